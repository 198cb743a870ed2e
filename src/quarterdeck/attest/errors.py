"""What can be wrong with an attestation.

    AttestationError
    ├── MalformedStructure    bytes that are not the TPM structure they should be
    ├── UntrustedKey          a key without the required attributes, or from an unknown TPM
    ├── InvalidQuote          a quote that does not prove what it should
    └── InvalidToken          a join token that is not one

The texts are for the audit log. Callers outside get one uniform error.
"""


class AttestationError(Exception):
    """Root of everything this package raises."""


class MalformedStructure(AttestationError):
    """Raised when bytes cannot be read as the structure they should be."""


class UntrustedKey(AttestationError):
    """Raised when a key lacks an attribute, has a forbidden one, or comes from an unknown TPM."""


class InvalidQuote(AttestationError):
    """Raised when a quote has a wrong type, nonce, signature or PCR digest."""


class InvalidToken(AttestationError):
    """Raised when a text is not a join token."""
