"""Workers on this machine: nobody else can reach them."""

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress

import numpy as np
import psutil
import pytest
from distributed import Client, Security

from biosfa.cluster import connected
from biosfa.exceptions import MissingExtraError
from tests.conftest import posix

LOOPBACK = "127.0.0.1"


def listening():
    """Addresses at which this process and its children listen."""
    me, found = psutil.Process(), set()
    for process in [me, *me.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            sockets = getattr(process, "net_connections", None) or process.connections  # the name before psutil 6
            found |= {tuple(each.laddr) for each in sockets(kind="inet") if each.status == psutil.CONN_LISTEN}
    return found


def pages(port):
    """What a browser sees of some pages of a scheduler or worker: an error each."""
    for page in ("", "status", "info/main/workers.html", "json/counts.json", "metrics", "health"):
        with pytest.raises((urllib.error.HTTPError, OSError)) as caught:
            urllib.request.urlopen(f"http://{LOOPBACK}:{port}/{page}", timeout=5)
        if isinstance(caught.value, urllib.error.HTTPError):
            caught.value.close()
            yield caught.value.code


def test_nothing_listens_beyond_loopback_and_nobody_connects_without_the_key():
    before = listening()
    with connected("local:2") as cluster:
        mine = listening() - before
        assert len(mine) >= 3  # the scheduler and two workers
        assert {host for host, _ in mine} == {LOOPBACK}
        assert {code for _, port in mine for code in pages(port)} == {404}
        addresses = [cluster._client.scheduler.address, *cluster._versions()]
        assert len(addresses) == 3
        for address in addresses:
            assert address.startswith(f"tls://{LOOPBACK}:")
            with pytest.raises(OSError, match=r"timed out|Connection|closed"):
                Client(address.replace("tls", "tcp"), timeout=2, set_as_default=False)
            with pytest.raises(OSError, match="certificate"):  # somebody else's key
                Client(address, timeout=2, security=Security.temporary(), set_as_default=False)
        assert list(cluster.in_order(divmod, [(7, 2), (9, 2)])) == [(3, 1), (4, 1)]  # those with the key still work
    assert listening() <= before


def test_the_library_that_makes_the_key_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtraError, match=r'this needs cryptography: pip install "biosfa\[dask\]"'):
        connected("local:1").__enter__()


@posix
def test_ctrl_c_while_workers_start_is_one_line(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((1000, 2)).cumsum(axis=0))
    arguments = ["fit", "x.npy", "-k", "1", "--scheduler", "local:2", "--out", "model"]
    process = subprocess.Popen(
        [sys.executable, "-m", "biosfa", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    workers = []
    while process.poll() is None and not workers:
        time.sleep(0.02)
        with suppress(psutil.Error):
            children = psutil.Process(process.pid).children(recursive=True)
            workers = [child for child in children if "--multiprocessing-fork" in child.cmdline()]
    for each in [process, *psutil.Process(process.pid).children(recursive=True)]:  # as a terminal does
        with suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert said == "biosfa: stopped; to resume, run biosfa resume model\n"
    assert process.returncode == 130
    psutil.wait_procs(workers, timeout=30)
    assert not any(worker.is_running() for worker in workers)
