"""``python -m deploy.appliance``: what ``deploy/up`` hands over to once the packages are there."""

import sys

from deploy.appliance.start import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
