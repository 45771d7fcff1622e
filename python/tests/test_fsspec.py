"""Images as a filesystem of fsspec."""

import os
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from conftest import LARGE

import lith

fsspec = pytest.importorskip("fsspec")

from fsspec.implementations.local import LocalFileSystem  # noqa: E402
from fsspec.tests.abstract import AbstractFixtures, AbstractGetTests  # noqa: E402

from lith.filesystem import ErofsFileSystem  # noqa: E402


@pytest.fixture
def fs(image_path: pathlib.Path) -> ErofsFileSystem:
    return fsspec.filesystem("erofs", fo=str(image_path))


class Prepared(ErofsFileSystem):
    """What a test of the suite makes first is in the image already."""

    def mkdir(self, path: str, *args: Any, **kwargs: Any) -> None:
        assert self.isdir(path)

    def touch(self, path: str, *args: Any, **kwargs: Any) -> None:
        assert self.isfile(path)


class TestAbstractSuite(AbstractFixtures, AbstractGetTests):
    """fsspec's own suite, as far as it only reads; its trees are made in a folder, and the folder becomes an image."""

    @pytest.fixture
    def fs_path(self) -> str:
        return "top"

    @pytest.fixture
    def fs_join(self) -> Callable[..., str]:
        return lambda *names: "/".join(name for name in names if name)

    @pytest.fixture
    def built(self, tmp_path: pathlib.Path) -> Callable[..., str]:
        """Makes a tree by one of the suite's functions, and an image of it."""

        def build(make: Callable[..., Any] | None) -> str:
            folder = tmp_path / "tree" / "top"
            folder.mkdir(parents=True)
            if make is not None:
                make(LocalFileSystem(auto_mkdir=True), os.path.join, str(folder))
            else:
                # What the tests that make a tree themselves make.
                (folder / "src").mkdir()
                (folder / "src" / "file").touch()
            lith.build(tmp_path / "tree", tmp_path / "tree.erofs")
            return "top/source"

        return build

    @pytest.fixture
    def fs_bulk_operations_scenario_0(self, built: Callable[..., str]) -> str:
        return built(self._bulk_operations_scenario_0)

    @pytest.fixture
    def fs_glob_edge_cases_files(self, built: Callable[..., str]) -> str:
        return built(self._glob_edge_cases_files)

    @pytest.fixture
    def fs_dir_and_file_with_same_name_prefix(self, built: Callable[..., str]) -> str:
        return built(self._dir_and_file_with_same_name_prefix)

    @pytest.fixture
    def fs_10_files_with_hashed_names(self, built: Callable[..., str]) -> str:
        return built(self._10_files_with_hashed_names)

    @pytest.fixture
    def fs(self, tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> ErofsFileSystem:
        for name in request.fixturenames:
            if name.startswith("fs_") and name in vars(type(self)) and name not in ("fs_path", "fs_join"):
                request.getfixturevalue(name)
        if not (tmp_path / "tree.erofs").exists():
            request.getfixturevalue("built")(None)
        return Prepared(tmp_path / "tree.erofs")


def test_the_protocol_is_registered() -> None:
    assert fsspec.get_filesystem_class("erofs") is ErofsFileSystem


def test_listing(fs: ErofsFileSystem) -> None:
    assert fs.ls("docs", detail=False) == ["docs/a.txt", "docs/b.md", "docs/deep"]
    assert fs.ls("erofs:///docs/", detail=True) == [fs.info(name) for name in fs.ls("docs", detail=False)]
    assert [found["name"] for found in fs.ls("docs/a.txt")] == ["docs/a.txt"]
    assert fs.find("docs") == ["docs/a.txt", "docs/b.md", "docs/deep/er/c.txt"]
    assert fs.find("docs", maxdepth=1) == ["docs/a.txt", "docs/b.md"]
    assert fs.find("docs", withdirs=True)[-2:] == ["docs/deep/er", "docs/deep/er/c.txt"]
    assert fs.glob("docs/**/*.txt") == ["docs/a.txt", "docs/deep/er/c.txt"]
    assert fs.glob("*/*.md") == ["docs/b.md"]
    assert "folder-link/b.md" not in fs.find("")
    assert "folder-link" in fs.find("", withdirs=True)
    assert [path for path, _, _ in fs.walk("docs", topdown=False)] == ["docs/deep/er", "docs/deep", "docs"]
    assert list(fs.walk("absent")) == []
    assert fs.du("docs") == 8 + 9 + 1
    assert ("docs", ["deep"], ["a.txt", "b.md"]) in [(path, sorted(d), sorted(f)) for path, d, f in fs.walk("")]
    with pytest.raises(FileNotFoundError):
        fs.ls("absent")


def test_information(fs: ErofsFileSystem, tree: pathlib.Path) -> None:
    found = fs.info("large.txt")
    assert (found["size"], found["type"], found["name"]) == (len(LARGE), "file", "large.txt")
    assert found["mtime"] == pytest.approx((tree / "large.txt").stat().st_mtime)
    assert fs.info("")["type"] == "directory"
    link = fs.info("link")
    assert (link["type"], link["islink"], link["destination"], link["size"]) == ("file", True, "docs/a.txt", 8)
    assert fs.info("dangling")["type"] == "link"
    assert fs.info("pipe")["type"] == "other"
    assert (fs.isdir("docs"), fs.isfile("docs"), fs.exists("absent"), fs.size("nothing")) == (True, False, False, 0)
    assert fs.modified("docs/a.txt").year == 2009
    assert fs.ukey("docs/a.txt") == fs.ukey("link") != fs.ukey("large.txt")
    with pytest.raises(FileNotFoundError):
        fs.info("absent")


def test_reading(fs: ErofsFileSystem, tmp_path: pathlib.Path) -> None:
    assert fs.cat("large.txt") == LARGE
    assert fs.cat_file("large.txt", 10, 20) == LARGE[10:20]
    assert fs.cat_file("large.txt", -10) == LARGE[-10:]
    assert fs.cat_file("large.txt", 5, -10) == LARGE[5:-10]
    assert fs.cat_file("large.txt", 20, 10) == b""
    assert fs.cat(["docs/a.txt", "nothing"]) == {"docs/a.txt": b"one\ntwo\n", "nothing": b""}
    assert fs.head("large.txt", 7) == LARGE[:7]
    assert fs.tail("large.txt", 7) == LARGE[-7:]
    with fs.open("large.txt") as file:
        file.seek(-3, 2)
        assert file.read() == LARGE[-3:]
    with fs.open("docs/b.md", "r", encoding="utf-8") as text:
        assert text.read() == "größer\n"
    fs.get("docs", str(tmp_path / "copy"), recursive=True)
    assert (tmp_path / "copy" / "deep" / "er" / "c.txt").read_text() == "c"


def test_many_ranges(fs: ErofsFileSystem) -> None:
    starts, ends = [0, 5, -4], [4, 9, None]
    expected = [LARGE[0:4], LARGE[5:9], LARGE[-4:]]
    assert fs.cat_ranges(["large.txt"] * 3, starts, ends) == expected
    assert fs.cat_ranges(["large.txt", "nothing"], 0, 3) == [LARGE[:3], b""]
    results = fs.cat_ranges(["absent", "docs", "absent"], [0, 0, -1], [1, 1, None])
    assert [type(result) for result in results] == [FileNotFoundError, IsADirectoryError, FileNotFoundError]
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges(["absent"], 0, 1, on_error="raise")


def test_nothing_is_written(fs: ErofsFileSystem) -> None:
    for action in [
        lambda: fs.open("new", "wb"),
        lambda: fs.open("new", "w"),
        lambda: fs.open("large.txt", "r+b"),
        lambda: fs.pipe("new", b""),
        lambda: fs.touch("new"),
        lambda: fs.mkdir("new"),
        lambda: fs.rm("docs"),
        lambda: fs.mv("docs", "new"),
        lambda: fs.cp_file("large.txt", "new"),
    ]:
        with pytest.raises(OSError, match="Read-only"):
            action()


def test_chains(image_path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with fsspec.open(f"erofs://docs/a.txt::file://{image_path}") as file:
        assert file.read() == b"one\ntwo\n"
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/tree.erofs", image_path.read_bytes())
    try:
        with fsspec.open("erofs://large.txt::memory://bucket/tree.erofs") as file:
            assert file.read() == LARGE
        url = "erofs://large.txt::simplecache::memory://bucket/tree.erofs"
        with fsspec.open(url, simplecache={"cache_storage": str(tmp_path)}) as file:
            assert file.read() == LARGE
        assert os.listdir(tmp_path)
        found, path = fsspec.url_to_fs("erofs://docs::memory://bucket/tree.erofs")
        assert found.ls(path, detail=False) == ["docs/a.txt", "docs/b.md", "docs/deep"]
        files = fsspec.open_files("erofs://docs/*.*::memory://bucket/tree.erofs")
        assert [file.path for file in files] == ["docs/a.txt", "docs/b.md"]
    finally:
        memory.rm("/bucket", recursive=True)


def test_pickles(image_path: pathlib.Path, fs: ErofsFileSystem) -> None:
    assert pickle.loads(pickle.dumps(fs)).cat("large.txt") == LARGE
    opened = fsspec.open(f"erofs://large.txt::file://{image_path}")
    with pickle.loads(pickle.dumps(opened)) as file:
        assert file.read() == LARGE
    mapper = pickle.loads(pickle.dumps(fs.get_mapper("docs")))
    assert mapper["a.txt"] == b"one\ntwo\n"
    assert sorted(mapper) == ["a.txt", "b.md", "deep/er/c.txt"]


def test_other_images(image_path: pathlib.Path, fs: ErofsFileSystem) -> None:
    with image_path.open("rb") as file:
        assert ErofsFileSystem(file).cat("large.txt") == LARGE
    assert ErofsFileSystem(fsspec.open(str(image_path))).cat("large.txt") == LARGE
    fs.close()
    with pytest.raises(ValueError, match="closed"):
        fs.cat("large.txt")


def test_pandas(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    lith.build({"tables/x.csv": b"a,b\n1,2\n3,4\n"}, tmp_path / "x.erofs")
    frame = pandas.read_csv(f"erofs://tables/x.csv::file://{tmp_path / 'x.erofs'}")
    assert frame["b"].tolist() == [2, 4]


def test_pyarrow(tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    for part in range(3):
        folder = tmp_path / "tables" / f"part={part}"
        folder.mkdir(parents=True)
        parquet.write_table(pyarrow.table({"x": [part, part + 10]}), folder / "data.parquet")
    lith.build(tmp_path / "tables", tmp_path / "x.erofs")
    found = dataset.dataset("", filesystem=ErofsFileSystem(tmp_path / "x.erofs"), partitioning="hive")
    assert sorted(found.to_table()["x"].to_pylist()) == [0, 1, 2, 10, 11, 12]
    assert found.to_table(filter=dataset.field("part") == 1)["x"].to_pylist() == [1, 11]


def test_zarr(tmp_path: pathlib.Path) -> None:
    zarr = pytest.importorskip("zarr")
    numpy = pytest.importorskip("numpy")
    data = numpy.arange(10_000).reshape(100, 100)
    zarr.save_array(str(tmp_path / "array"), data)
    lith.build(tmp_path / "array", tmp_path / "x.erofs")
    mapper = fsspec.get_mapper("erofs://::file://" + str(tmp_path / "x.erofs"))
    assert ".zarray" in mapper or "zarr.json" in mapper


@pytest.mark.parametrize("version", [2, 3])
def test_xarray(tmp_path: pathlib.Path, version: int) -> None:
    pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    numpy = pytest.importorskip("numpy")
    field = xarray.Dataset({"heat": (("x", "y"), numpy.arange(10_000).reshape(100, 100))})
    field.to_zarr(str(tmp_path / "field.zarr"), zarr_format=version, consolidated=version == 2)
    lith.build(_files(tmp_path / "field.zarr", "in/field.zarr"), tmp_path / "x.erofs")
    found = xarray.open_zarr(f"erofs://in/field.zarr::file://{tmp_path / 'x.erofs'}", consolidated=version == 2)
    assert found.identical(field)
    options = {"fo": str(tmp_path / "x.erofs")}
    found = xarray.open_zarr("erofs://in/field.zarr", storage_options=options, consolidated=version == 2)
    assert found["heat"][7, 8] == 708


def _files(folder: pathlib.Path, name: str) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {f"{name}/{path.relative_to(folder)}": path.read_bytes() for path in files}


@pytest.mark.parametrize("streaming", [False, True])
def test_datasets(tmp_path: pathlib.Path, streaming: bool) -> None:
    datasets = pytest.importorskip("datasets")
    tables = {f"tables/{part}.csv": f"a,b\n{part},x\n".encode() for part in range(3)}
    lith.build(tables, tmp_path / "x.erofs")
    # When it streams, `datasets` takes `file:` for a part of a local path, of zip archives, too.
    address = f"erofs://tables/*.csv::{tmp_path / 'x.erofs'}"
    found = datasets.load_dataset(
        "csv", data_files=address, split="train", streaming=streaming, cache_dir=str(tmp_path / "cache")
    )
    assert sorted(row["a"] for row in found) == [0, 1, 2]


def test_datasets_on_disk(tmp_path: pathlib.Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"a": list(range(100))}).save_to_disk(str(tmp_path / "saved"))
    lith.build(tmp_path / "saved", tmp_path / "x.erofs")
    found = datasets.load_from_disk("erofs://", storage_options={"fo": str(tmp_path / "x.erofs")})
    assert found["a"][-1] == 99
