"""The seed disk that cloud-init reads at the first start of a machine. Pure."""

from quarterdeck.kit.iso9660 import build_image
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import CloudInit

LABEL = "cidata"
LARGEST = 1 << 20


def build_seed_image(data: CloudInit) -> bytes:
    """An ISO image with the documents of the NoCloud data source.

    Raises:
        PermanentError: PAYLOAD_TOO_LARGE beyond 1 MiB, which no document needs.
    """
    files = {"user-data": data.user_data.encode(), "meta-data": data.meta_data.encode()}
    if data.network_data:
        files["network-config"] = data.network_data.encode()
    size = sum(map(len, files.values()))
    if size > LARGEST:
        raise make_error(
            Code.PAYLOAD_TOO_LARGE,
            f"the cloud-init documents have {size} bytes together, more than {LARGEST}",
            operation="inject_cloud_init",
        )
    return build_image(LABEL, files)
