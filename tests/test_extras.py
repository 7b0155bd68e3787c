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


@pytest.mark.parametrize("version", ["2.9", "2.10.1", "3", "3.10.99", "3.2.dev1+g12"])
def test_a_library_that_is_too_old_is_named_with_the_version_needed(monkeypatch, version):
    monkeypatch.setattr(extras, "requires", lambda name: ["numpy>=2.0", "h5py>=3.11 ; extra == 'hdf5'"])
    monkeypatch.setattr(extras, "version", lambda name: version)
    message = rf'this needs h5py 3\.11 or later, but {version} is installed: pip install "biosfa\[hdf5\]"'
    with pytest.raises(MissingExtraError, match=message.replace("+", r"\+")):
        extras.imported("h5py", "hdf5")


@pytest.mark.parametrize("version", ["3.11", "3.11.0rc1", "3.12.1", "4.0"])
@pytest.mark.parametrize("written", ["h5py>=3.11; extra == 'hdf5'", 'h5py>=3.11 ; extra == "hdf5"'])
def test_a_library_that_is_new_enough_is_imported(monkeypatch, version, written):
    monkeypatch.setattr(extras, "requires", lambda name: [written])
    monkeypatch.setattr(extras, "version", lambda name: version)
    assert extras.imported("json", "hdf5").dumps([]) == "[]"
    assert extras.imported("h5py", "hdf5").__name__ == "h5py"


def test_the_metadata_of_the_package_say_which_version_is_needed(monkeypatch):
    monkeypatch.setattr(extras, "version", lambda name: "0.1")
    with pytest.raises(MissingExtraError, match=r"this needs h5py \d[\d.]+ or later, but 0\.1 is installed"):
        extras.imported("h5py", "hdf5")
