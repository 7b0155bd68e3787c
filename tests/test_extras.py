"""Optional libraries that are not installed, or too old."""

import sys

import pytest

from biosfa import extras
from biosfa.exceptions import MissingExtraError


def test_a_library_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r'this needs h5py: pip install "biosfa\[hdf5\]"') as caught:
        extras.imported("h5py", "hdf5")
    assert caught.value.name == "h5py"
    with pytest.raises(MissingExtraError, match=r'this needs h5py: pip install "biosfa\[hdf5\]"'):
        extras.imported("h5py.part", "hdf5", least="1000")


@pytest.mark.parametrize("version", ["2.99", "3.9.1", "3.2.dev1", "3.11", "3.11.0"])
def test_a_library_that_is_too_old_is_named_with_the_version_needed(monkeypatch, version):
    monkeypatch.setattr(extras, "version", lambda name: version)
    message = rf'this needs h5py 3\.11\.1 or later, but {version} is installed: pip install "biosfa\[hdf5\]"'
    for module in ("h5py", "h5py.no_such_part"):
        with pytest.raises(MissingExtraError, match=message) as caught:
            extras.imported(module, "hdf5", least="3.11.1")
        assert caught.value.name == "h5py"


@pytest.mark.parametrize("version", ["3.11.1", "3.11.2rc1", "3.12", "4.0"])
def test_a_library_that_is_new_enough_is_imported(monkeypatch, version):
    monkeypatch.setattr(extras, "version", lambda name: version)
    assert extras.imported("h5py", "hdf5", least="3.11.1").__name__ == "h5py"
