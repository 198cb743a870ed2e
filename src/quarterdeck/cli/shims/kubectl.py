"""The `kubectl` of envtest: the one that is installed."""

import os
import shutil
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Execute the kubectl on the PATH, ignoring the folder of this program."""
    own = os.environ.pop("QUARTERDECK_ENVTEST", "")
    folders = [
        each
        for each in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if not own or os.path.realpath(each) != os.path.realpath(own)
    ]
    program = shutil.which("kubectl", path=os.pathsep.join(folders))
    if program is None:
        print("kubectl: not installed; put kubectl on the PATH", file=sys.stderr)
        sys.exit(127)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
