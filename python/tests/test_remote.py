"""Images on a web server."""

import errno
import http.server
import multiprocessing
import os
import pathlib
import pickle
import threading
from collections.abc import Iterator

import pytest
from conftest import LARGE

import lith


class Server(http.server.ThreadingHTTPServer):
    """A web server with one object, which sends ranges."""

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.version = 1
        self.sent = 0
        self.url = f"http://127.0.0.1:{self.server_port}/tree.erofs"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        server, tag = self.server, f'"{self.server.version}"'
        if self.path != "/tree.erofs":
            self.send_error(403 if self.path == "/secret" else 404)
            return
        if self.headers.get("If-Match", tag) != tag:
            self.send_error(412)
            return
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        start, end = int(first), min(int(last) + 1, len(server.content))
        self.send_response(206)
        self.send_header("ETag", tag)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(server.content)}")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        server.sent += end - start
        self.wfile.write(server.content[start:end])

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Server]:
    """A server with an image of some megabytes, and a file of text in it."""
    folder = tmp_path / "served"
    (folder / "docs").mkdir(parents=True)
    (folder / "large.txt").write_bytes(LARGE)
    for number in range(8):
        (folder / "docs" / str(number)).write_bytes(os.urandom(2_000_000))
    lith.build(folder, tmp_path / "served.erofs")
    server = Server((tmp_path / "served.erofs").read_bytes())
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_only_what_is_read_is_fetched(server: Server) -> None:
    with lith.Image(server.url) as image:
        assert image.read("large.txt") == LARGE
        assert image.listdir("docs") == [str(number) for number in range(8)]
        assert server.sent < len(server.content) / 2
        assert image.name == server.url
    secret = server.url.replace("http://", "http://user:secret@")
    with lith.Image(secret) as image:
        assert "secret" not in repr(image) + image.name


def test_what_was_fetched_is_kept(server: Server, tmp_path: pathlib.Path) -> None:
    cache = tmp_path / "cache"
    with lith.Image(server.url, cache=cache) as image:
        image.read("docs/1")
    sent = server.sent
    with lith.Image(server.url, cache=cache) as image:
        assert image.read("docs/1") == lith.Image(tmp_path / "served.erofs").read("docs/1")
        # One byte is enough to compare versions.
        assert server.sent < sent + 100


def test_forked_and_spawned_processes_read_on(server: Server, tmp_path: pathlib.Path) -> None:
    local = lith.Image(tmp_path / "served.erofs")
    with lith.Image(server.url) as image:
        assert image.read("large.txt") == LARGE
        with multiprocessing.get_context("fork").Pool(2, initializer=_take, initargs=(image,)) as pool:
            names = [f"docs/{number}" for number in range(8)]
            assert pool.map(_read, names) == [local.read(name) for name in names]
        assert pickle.loads(pickle.dumps(image)).read("docs/7") == local.read("docs/7")


def _take(image: lith.Image) -> None:
    global taken
    taken = image


def _read(name: str) -> bytes:
    return taken.read(name)


def test_a_version_that_was_replaced_is_refused(server: Server) -> None:
    with lith.Image(server.url) as image:
        image.stat("large.txt")
        server.version = 2
        with pytest.raises(OSError, match="changed|version|precondition|412"):
            [image.read(f"docs/{number}") for number in range(8)]


def test_addresses_are_sources(server: Server, tmp_path: pathlib.Path) -> None:
    assert lith.check(server.url).sound
    assert lith.diff(server.url, tmp_path / "served") == []
    built = lith.build(server.url, tmp_path / "again.erofs")
    assert built.files == 9
    assert lith.diff(tmp_path / "again.erofs", tmp_path / "served") == []


def test_errors_of_servers(server: Server) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        lith.Image(server.url + "-not")
    assert missing.value.filename == server.url + "-not"
    with pytest.raises(PermissionError):
        lith.Image(server.url.replace("tree.erofs", "secret"))
    with pytest.raises(OSError, match="address") as bad:
        lith.Image("http://")
    assert bad.value.errno == errno.EINVAL
    server.content = bytes(100_000)
    with pytest.raises(lith.NotAnImageError):
        lith.Image(server.url)
