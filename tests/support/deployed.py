"""The classes of a deployed version: ``tests.support.versions`` installs them here, one version at a time."""
