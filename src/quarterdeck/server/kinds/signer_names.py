"""Names of signers of certificates."""

from collections.abc import Iterator

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, required, too_long

_LONGEST_PATH = names.LABEL_LIMIT + 1 + names.SUBDOMAIN_LIMIT
_LONGEST_NAME = names.SUBDOMAIN_LIMIT + 1 + _LONGEST_PATH


def validate_signer(text: str, path: str) -> Iterator[FieldError]:
    """Check the name of a signer: a domain and a path."""
    if not text:
        yield required(path)
        return
    if text.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid(path, text, detail)
        return
    domain, _, rest = text.partition("/")
    if len(domain) > names.SUBDOMAIN_LIMIT:
        yield too_long(path, domain, names.SUBDOMAIN_LIMIT)
    labels = domain.split(".")
    wrong = next((each for each in labels if names.check_dns1123_label(each)), None)
    if wrong is not None:
        for problem in names.check_dns1123_label(wrong):
            yield invalid(path, domain, f'validating label "{wrong}": {problem}')
    if len(labels) < 2:
        detail = "should be a domain with at least two segments separated by dots"
        yield invalid(path, domain, detail)
    wrong = next((each for each in rest.split(".") if names.check_dns1123_subdomain(each)), None)
    if wrong is not None:
        for problem in names.check_dns1123_subdomain(wrong):
            yield invalid(path, rest, f'validating label "{wrong}": {problem}')
    if len(text) > _LONGEST_NAME:
        yield too_long(path, text, _LONGEST_NAME)
