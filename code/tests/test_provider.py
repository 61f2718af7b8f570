"""What creating, reading, changing, removing and recovering an object of each type does to the world around it."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import stat
import sys
import tempfile
import threading
import unicodedata
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple
from unittest import mock

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS.parent))
import main  # noqa: E402
from main import PROVIDERS, UNKNOWN, Map, Runtime, StepError  # noqa: E402

Attributes = Dict[str, Any]
ROOT = os.geteuid() == 0


class InDirectory(unittest.TestCase):
    """A directory of its own for each test, umask 022, a clock that stands still and sleeps that are only noted."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="minigraph-test-")
        self.addCleanup(holder.cleanup)
        self.directory = os.path.realpath(holder.name)
        self.addCleanup(os.umask, os.umask(0o022))
        self.slept: List[float] = []
        self.runtime = Runtime(self.slept.append, lambda: 1796017293.9, self.directory)

    def path(self, name: str) -> str:
        """Return where a name is."""
        return os.path.join(self.directory, name)

    def write(self, name: str, content: bytes = b"") -> None:
        """Put a file there."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        Path(self.path(name)).write_bytes(content)

    def content(self, name: str) -> bytes:
        """Return what a file holds."""
        return Path(self.path(name)).read_bytes()

    def mode(self, name: str) -> int:
        """Return the permission bits."""
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)

    def planned(self, type_name: str, **body: Any) -> Attributes:
        """Return what a plan says of a new object: the converted arguments, the rest unknown."""
        args, problems = main.convert_arguments(type_name, body)
        self.assertEqual(problems, [])
        return {**args, **dict.fromkeys(main.SCHEMAS[type_name].computed, UNKNOWN)}

    def create(self, type_name: str, **body: Any) -> Attributes:
        """Return the attributes of a new object."""
        return PROVIDERS[type_name].create(self.planned(type_name, **body), self.runtime)

    def file(self, filename: str = "o.txt", content: Optional[str] = "x", **body: Any) -> Attributes:
        """Return the attributes of a new local_file."""
        return self.create("local_file", filename=filename, content=content, **body)

    def failure(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> StepError:
        """Return the error of a step."""
        with self.assertRaises(StepError) as caught:
            call(*arguments, **named)
        return caught.exception

    def original(self, filename: str, **body: Any) -> str:
        """Return the original error of a local_file that cannot be created."""
        error = self.failure(self.file, filename, **body)
        self.assertEqual(error.summary, "Create local file error")
        self.assertIsNone(error.attributes)
        return error.detail.split("\n\n+Original Error: ")[1]


class FileContent(InDirectory):
    """local_file writes the first of its contents that is set, as bytes."""

    def test_text_is_written_as_utf8(self) -> None:
        self.file(content="\u00e9\r\n\0")
        self.assertEqual(self.content("o.txt"), b"\xc3\xa9\r\n\0")

    def test_base64_and_source_give_bytes(self) -> None:
        self.write("s.bin", b"\xff\xfe")
        self.file("a", None, content_base64="/+8=")
        self.file("b", None, source="s.bin")
        self.assertEqual((self.content("a"), self.content("b")), (b"\xff\xef", b"\xff\xfe"))

    def test_sensitive_content_is_written_too(self) -> None:
        self.file(content=None, sensitive_content="secret")
        self.assertEqual(self.content("o.txt"), b"secret")

    def test_the_seven_computed_attributes_are_hashes_of_the_bytes(self) -> None:
        made = self.file(content="hello")
        for name in ("md5", "sha1", "sha256", "sha512"):
            self.assertEqual(made[f"content_{name}"], hashlib.new(name, b"hello").hexdigest())
        for name in ("sha256", "sha512"):
            digest = hashlib.new(name, b"hello").digest()
            self.assertEqual(made[f"content_base64{name}"], base64.b64encode(digest).decode())
        self.assertEqual(made["id"], made["content_sha1"])

    def test_content_of_is_what_would_be_written(self) -> None:
        self.assertEqual(main.content_of(self.planned("local_file", filename="f", content_base64="aGk="), self.runtime),
                         b"hi")

    def test_a_missing_or_unreadable_source_fails(self) -> None:
        os.mkdir(self.path("s.d"))
        self.assertEqual(self.original("o", content=None, source="nope"), "open nope: no such file or directory")
        self.assertEqual(self.original("o", content=None, source="s.d"), "read s.d: is a directory")
        self.assertFalse(os.path.exists(self.path("o")))

    def test_the_detail_says_what_was_being_done(self) -> None:
        self.write("f")
        starts = [self.failure(self.file, filename, content).detail.split("\n\n")[0]
                  for filename, content in (("f/d/x", "x"), ("f/x", "x"))]
        starts.append(self.failure(self.file, "o", None, content_base64="!").detail.split("\n\n")[0])
        self.assertEqual(starts, [
            "An unexpected error occurred while creating file directory",
            "An unexpected error occurred while writing the file",
            "An unexpected error occurred while parsing local file content"])


class Base64(unittest.TestCase):
    """Base64 is read as Go reads it: strict alphabet and padding, line ends anywhere, loose last bits."""

    def test_line_ends_and_loose_bits_are_fine(self) -> None:
        for text, content in (("", b""), ("aGk=", b"hi"), ("aGl=", b"hi"), ("a\r\nGk=\n", b"hi"), ("aGk\n=", b"hi"),
                              ("aA=\n=", b"h"), ("YWJj", b"abc"), ("\n", b""), ("+/+/", b"\xfb\xff\xbf")):
            self.assertEqual(main.decode_base64(text), content, text)

    def test_the_place_of_a_fault_is_told(self) -> None:
        for text, place in (("!!!", 0), ("aGk", 0), ("5", 0), ("=aGk", 0), ("aG k=", 2), ("aGk=x", 4), ("YWJj!", 4),
                            ("YWJjYQ", 4), ("aA=", 3), ("aA=x", 2), ("aA==x", 4), ("a===", 1), ("aG-_", 2),
                            ("aG\nk", 1), ("aGk==", 4), ("aA==\n", None), ("YWJj\u00e9", 4), ("aGk=aGk=", 4)):
            if place is None:
                main.decode_base64(text)
                continue
            with self.assertRaisesRegex(OSError, f"illegal base64 data at input byte {place}$"):
                main.decode_base64(text)


class FilePaths(InDirectory):
    """The parent of the cleaned name is made; the file is opened by the name as written."""

    def test_missing_directories_are_made_and_stay_after_a_failure(self) -> None:
        self.assertEqual(self.original("a/../b/./c.txt"), "open a/../b/./c.txt: no such file or directory")
        self.assertEqual(os.listdir(self.directory), ["b"])

    def test_a_name_that_ends_in_a_slash_makes_a_directory_and_fails(self) -> None:
        self.assertEqual(self.original("d/"), "open d/: is a directory")
        self.assertTrue(os.path.isdir(self.path("d")))

    def test_an_uncleaned_name_works_where_its_directories_are_there(self) -> None:
        os.mkdir(self.path("a"))
        self.file("a/..//b/./c.txt")
        self.assertEqual(self.content("b/c.txt"), b"x")

    def test_a_tilde_is_a_name(self) -> None:
        self.file("~/o.txt")
        self.assertEqual(self.content("~/o.txt"), b"x")

    def test_an_absolute_name_leaves_the_directory(self) -> None:
        self.file(self.path("deep/o.txt"))
        self.assertEqual(self.content("deep/o.txt"), b"x")

    def test_no_directory_means_the_working_one(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        runtime = self.runtime._replace(directory="")
        PROVIDERS["local_file"].create(self.planned("local_file", filename="a/o", content="x"), runtime)
        self.assertEqual(self.content("a/o"), b"x")

    def test_errors_are_in_the_words_of_the_real_tool(self) -> None:
        self.write("f")
        os.mkdir(self.path("d"))
        os.symlink("loop", self.path("loop"))
        long_name = "n" * 300
        for filename, text in (
                ("", "open : no such file or directory"), ("f/x", "open f/x: not a directory"),
                ("f/d/x", "mkdir f: not a directory"), ("./f/d/e/x", "mkdir f: not a directory"),
                ("a\0b", "open a\0b: invalid argument"), ("a\0b/c", "mkdir a\0b: invalid argument"),
                ("d", "open d: is a directory"), (".", "open .: is a directory"), ("..", "open ..: is a directory"),
                (long_name, f"open {long_name}: file name too long"),
                (f"{long_name}/x", f"mkdir {long_name}: file name too long"),
                ("loop", "open loop: too many levels of symbolic links")):
            self.assertEqual(self.original(filename), text)

    @unittest.skipIf(ROOT, "root may write everywhere")
    def test_a_closed_directory_is_permission_denied(self) -> None:
        os.mkdir(self.path("d"), 0o500)
        self.assertEqual(self.original("d/x"), "open d/x: permission denied")
        self.assertEqual(self.original("d/e/x"), "mkdir d/e: permission denied")

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_told_as_a_write(self) -> None:
        self.assertEqual(self.original("/dev/full"), "write /dev/full: no space left on device")

    def test_links_are_followed_dangling_ones_too(self) -> None:
        os.symlink("target", self.path("link"))
        self.file("link")
        self.assertEqual(self.content("target"), b"x")
        self.assertTrue(os.path.islink(self.path("link")))

    def test_two_workers_may_need_the_same_new_directory(self) -> None:
        start = threading.Barrier(8, timeout=10)
        failed: List[BaseException] = []

        def worker(number: int) -> None:
            try:
                start.wait()
                self.file(f"a/b/c/d/e/{number}")
            except BaseException as error:
                failed.append(error)
        threads = [threading.Thread(target=worker, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failed, len(os.listdir(self.path("a/b/c/d/e")))), ([], 8))

    def test_a_directory_that_another_worker_has_just_made_is_taken(self) -> None:
        os.mkdir(self.path("d"))
        with mock.patch.object(os.path, "exists", return_value=False):  # looked before the other one made it
            self.file("d/o.txt")
        self.assertEqual(self.content("d/o.txt"), b"x")

    def test_a_dangling_link_is_no_directory(self) -> None:
        os.symlink("nowhere", self.path("d"))
        self.assertEqual(self.original("d/o.txt"), "mkdir d: file exists")


class FilePermissions(InDirectory):
    """Permissions, less the umask, are for what is made new; nothing that exists is changed."""

    def test_a_new_file_gets_them(self) -> None:
        self.assertEqual(self.file()["file_permission"], "0777")
        self.file("p", file_permission="+604")
        self.assertEqual((self.mode("o.txt"), self.mode("p")), (0o755, 0o604))

    def test_the_umask_of_the_moment_counts(self) -> None:
        os.umask(0o077)
        self.file("a/o.txt")
        self.assertEqual((self.mode("a"), self.mode("a/o.txt")), (0o700, 0o700))

    def test_without_a_umask_they_are_taken_whole(self) -> None:
        os.umask(0)
        self.file("a/o.txt", file_permission="666")
        self.assertEqual((self.mode("a"), self.mode("a/o.txt")), (0o777, 0o666))

    def test_an_existing_file_is_overwritten_and_keeps_its_mode(self) -> None:
        self.write("o.txt", b"longer than before")
        os.chmod(self.path("o.txt"), 0o600)
        self.file(file_permission="0644")
        self.assertEqual((self.mode("o.txt"), self.content("o.txt")), (0o600, b"x"))

    def test_only_new_directories_get_directory_permission(self) -> None:
        os.mkdir(self.path("old"), 0o711)
        self.file("old/a/b/o.txt", directory_permission="0750")
        self.assertEqual([self.mode(name) for name in ("old", "old/a", "old/a/b")], [0o711, 0o750, 0o750])

    def test_the_umask_itself_is_never_touched(self) -> None:
        with mock.patch.object(os, "umask", side_effect=AssertionError("the umask belongs to the whole process")):
            self.file("a/b/o.txt")


class FileReading(InDirectory):
    """A file is there while its bytes have the sha1 that is the id; nothing else is looked at."""

    def read(self, attributes: Attributes) -> Optional[Attributes]:
        return PROVIDERS["local_file"].read(attributes, self.runtime)

    def test_an_untouched_file_is_returned_as_stored(self) -> None:
        made = self.file()
        os.chmod(self.path("o.txt"), 0o600)
        stored = {**made, "content_md5": "wrong", "file_permission": None}
        self.assertEqual(self.read(stored), stored)

    def test_a_changed_or_missing_file_is_gone(self) -> None:
        made = self.file("d/o.txt")
        self.write("d/o.txt", b"y")
        self.assertIsNone(self.read(made))
        os.unlink(self.path("d/o.txt"))
        self.assertIsNone(self.read(made))
        os.rmdir(self.path("d"))
        self.assertIsNone(self.read(made))

    def test_a_dangling_link_is_gone_and_a_good_one_followed(self) -> None:
        made = self.file()
        os.rename(self.path("o.txt"), self.path("t"))
        os.symlink("t", self.path("o.txt"))
        self.assertEqual(self.read(made), made)
        os.unlink(self.path("t"))
        self.assertIsNone(self.read(made))

    def test_a_removed_source_is_not_noticed(self) -> None:
        self.write("s", b"x")
        made = self.file(content=None, source="s")
        os.unlink(self.path("s"))
        self.assertEqual(self.read(made), made)

    def test_what_cannot_be_read_is_an_error(self) -> None:
        made = self.file("d/o.txt")
        os.unlink(self.path("d/o.txt"))
        os.mkdir(self.path("d/o.txt"))
        error = self.failure(self.read, made)
        self.assertEqual((error.summary, error.detail), (
            "Read local file error",
            "An unexpected error occurred while reading the file\n\n+Original Error: read d/o.txt: is a directory"))
        os.rmdir(self.path("d/o.txt"))
        os.rmdir(self.path("d"))
        self.write("d")
        self.assertTrue(self.failure(self.read, made).detail.endswith("Error: open d/o.txt: not a directory"))

    def test_a_state_without_id_or_name_counts_as_gone(self) -> None:
        self.file()
        self.assertIsNone(self.read({"filename": "o.txt", "id": None}))
        self.assertIsNone(self.read({"filename": None}))


class FileRemoval(InDirectory):
    """A delete removes what the state says was written, and nothing else."""

    def delete(self, attributes: Attributes, shared: bool = False) -> None:
        PROVIDERS["local_file"].delete(attributes, self.runtime._replace(shared=shared))

    def test_the_file_goes_and_its_directory_stays(self) -> None:
        self.delete(self.file("d/o.txt"))
        self.assertEqual(os.listdir(self.path("d")), [])

    def test_a_missing_file_or_directory_is_fine(self) -> None:
        made = self.file("d/o.txt")
        self.delete(made)
        self.delete(made)
        os.rmdir(self.path("d"))
        self.delete(made)
        self.write("d")
        self.delete(made)
        self.assertEqual(self.content("d"), b"")

    def test_a_file_with_other_content_stays(self) -> None:
        made = self.file()
        self.write("o.txt", b"edited by hand")
        self.delete(made)
        self.assertEqual(self.content("o.txt"), b"edited by hand")

    def test_a_directory_in_its_place_stays(self) -> None:
        made = self.file()
        os.unlink(self.path("o.txt"))
        os.mkdir(self.path("o.txt"))
        self.delete(made)
        self.write("o.txt/inside")
        self.delete(made)
        self.assertEqual(os.listdir(self.path("o.txt")), ["inside"])

    def test_a_link_to_the_content_goes_and_its_target_stays(self) -> None:
        made = self.file()
        os.rename(self.path("o.txt"), self.path("t"))
        os.symlink("t", self.path("o.txt"))
        self.delete(made)
        self.assertEqual(os.listdir(self.directory), ["t"])

    def test_a_file_that_another_object_owns_stays(self) -> None:
        made = self.file("d/o.txt")
        self.delete(made, shared=True)
        self.assertEqual(self.content("d/o.txt"), b"x")

    def test_a_file_has_one_name_whatever_leads_to_it(self) -> None:
        self.file("d/o.txt")
        os.symlink("d", self.path("alias"))
        self.assertEqual({main.real_path(name, self.directory) for name in ("alias/../d/./o.txt", "alias/o.txt", "d/o.txt")},
                         {os.path.realpath(self.path("d/o.txt"))})

    def test_a_file_that_may_not_be_read_may_be_removed(self) -> None:
        made = self.file()
        with mock.patch.object(main, "read_file", side_effect=PermissionError(13, "open o.txt: permission denied")):
            self.delete(made)
        self.assertEqual(os.listdir(self.directory), [])

    def test_what_cannot_be_removed_is_an_error(self) -> None:
        made = self.file()
        with mock.patch.object(os, "unlink", side_effect=PermissionError(13, "Permission denied")):
            error = self.failure(self.delete, made)
        self.assertEqual((error.summary, error.detail, error.attributes), (
            "Delete local file error",
            "An unexpected error occurred while removing the file\n\n"
            "+Original Error: remove o.txt: permission denied", None))
        self.assertEqual(self.content("o.txt"), b"x")

    @unittest.skipIf(ROOT, "root may write everywhere")
    def test_a_closed_directory_keeps_its_file_and_the_step_fails(self) -> None:
        made = self.file("d/o.txt")
        os.chmod(self.path("d"), 0o500)
        self.addCleanup(os.chmod, self.path("d"), 0o700)
        self.assertTrue(self.failure(self.delete, made).detail.endswith("remove d/o.txt: permission denied"))

    def test_a_name_with_a_nul_byte_owns_nothing(self) -> None:
        self.assertEqual(main.real_path("a\0b", "/w"), "/w/a\0b")


class Recovery(InDirectory):
    """After a create that was cut off: the object is whole, there in part, or absent."""

    def recover(self, **body: Any) -> Tuple[str, Optional[Attributes]]:
        planned = self.planned("local_file", filename="o.txt", **body)
        return PROVIDERS["local_file"].recover(planned, self.runtime)

    def test_the_planned_bytes_make_it_whole(self) -> None:
        made = self.file(content="hello")
        self.assertEqual(self.recover(content="hello"), ("whole", made))

    def test_the_first_bytes_make_it_partial_and_a_read_keeps_it(self) -> None:
        for start in (b"", b"hel"):
            self.write("o.txt", start)
            state, attributes = self.recover(content="hello")
            assert attributes is not None
            self.assertEqual((state, attributes["content"], attributes["id"]),
                             ("partial", "hello", hashlib.sha1(start).hexdigest()))
            self.assertTrue(main.is_known(attributes))
            self.assertEqual(PROVIDERS["local_file"].read(attributes, self.runtime), attributes)

    def test_an_empty_file_is_whole_where_nothing_was_to_be_written(self) -> None:
        self.write("o.txt")
        self.assertEqual(self.recover(content="")[0], "whole")

    def test_anything_else_makes_it_absent(self) -> None:
        self.assertEqual(self.recover(content="hello"), ("absent", None))
        for other in (b"help", b"hello there"):
            self.write("o.txt", other)
            self.assertEqual(self.recover(content="hello"), ("absent", None))
        self.assertEqual(self.recover(source="gone"), ("absent", None))

    def test_objects_without_a_world_are_absent(self) -> None:
        for type_name in ("random_pet", "terraform_data", "time_sleep"):
            self.assertEqual(PROVIDERS[type_name].recover({}, self.runtime), ("absent", None))


class Pets(InDirectory):
    """The id of a random_pet: adverbs, an adjective, a name, and what is put between and before them."""

    def test_the_number_of_words(self) -> None:
        for length, count in ((1, 1), (2, 2), (3, 3), (7, 7), (0, 2), (-100, 2)):
            made = self.create("random_pet", length=length)
            self.assertRegex(made["id"], rf"\A[a-z]{{2,10}}(-[a-z]{{2,10}}){{{count - 1}}}\Z")
            self.assertEqual(made["length"], length)

    def test_which_list_each_word_is_from(self) -> None:
        lists = [set(words.split()) for words in (main.PET_ADVERBS, main.PET_ADJECTIVES, main.PET_NAMES)]
        for length, kinds in ((1, [2]), (2, [1, 2]), (4, [0, 0, 1, 2])):
            words = self.create("random_pet", length=length)["id"].split("-")
            self.assertTrue(all(word in lists[kind] for word, kind in zip(words, kinds)), words)

    def test_the_lists_hold_enough_clean_words(self) -> None:
        for words, least in ((main.PET_ADVERBS, 100), (main.PET_ADJECTIVES, 200), (main.PET_NAMES, 200)):
            found = words.split()
            self.assertGreaterEqual(len(found), least)
            self.assertEqual(len(found), len(set(found)))
            self.assertEqual([word for word in found if not re.fullmatch("[a-z]{2,10}", word)], [])

    def test_separators_between_words_go_lower_case_but_not_the_one_after_the_prefix(self) -> None:
        self.assertRegex(self.create("random_pet", length=3, prefix="Web", separator="X")["id"],
                         r"\AWebX[a-z]+x[a-z]+x[a-z]+\Z")
        self.assertRegex(self.create("random_pet", separator="-\u00c9\u03a3-")["id"],
                         "\\A[a-z]+-\u00e9\u03c3-[a-z]+\\Z")

    def test_the_arguments_are_stored_as_given(self) -> None:
        made = self.create("random_pet", keepers={"a": None, "b": 1}, separator="")
        self.assertEqual({**made, "id": ""}, {
            "id": "", "keepers": Map(a=None, b="1"), "length": 2, "prefix": None, "separator": ""})

    def test_names_differ(self) -> None:
        self.assertGreater(len({self.create("random_pet", length=4)["id"] for _ in range(20)}), 15)

    def test_an_empty_prefix_fails_and_leaves_a_tainted_object(self) -> None:
        error = self.failure(self.create, "random_pet", prefix="")
        self.assertEqual(error.summary, "Provider produced inconsistent result after apply")
        self.assertIn('.prefix: was cty.StringVal(""), but now null.', error.detail)
        assert error.attributes is not None
        self.assertRegex(error.attributes.pop("id"), r"\A[a-z]+-[a-z]+\Z")
        self.assertEqual(error.attributes, {"keepers": None, "length": 2, "prefix": None, "separator": "-"})

    def test_an_update_keeps_the_id(self) -> None:
        made = self.create("random_pet")
        planned = {**made, "keepers": Map()}
        self.assertEqual(PROVIDERS["random_pet"].update(made, planned, self.runtime), planned)


class Data(InDirectory):
    """terraform_data keeps its input as output, under an id of 16 random bytes."""

    def test_the_output_is_the_input(self) -> None:
        values: Tuple[Any, ...] = (
            "s", Decimal("1.5"), [1, None], {"a": {}}, Map(a="1"), main.Typed(["a"], ["set", "string"]))
        for value in values:
            self.assertTrue(main.same(self.create("terraform_data", input=value)["output"], value))

    def test_no_input_means_no_output(self) -> None:
        planned = {**self.planned("terraform_data", triggers_replace="t"), "output": None}
        made = PROVIDERS["terraform_data"].create(planned, self.runtime)
        self.assertEqual((made["input"], made["output"], made["triggers_replace"]), (None, None, "t"))

    def test_ids_are_hexadecimal_and_differ(self) -> None:
        found = {self.create("terraform_data")["id"] for _ in range(50)}
        self.assertEqual(len(found), 50)
        for identity in found:
            self.assertRegex(identity, r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

    def test_an_update_renews_only_an_unknown_output(self) -> None:
        made = self.create("terraform_data", input="a")
        update = PROVIDERS["terraform_data"].update
        self.assertEqual(update(made, {**made, "input": "b", "output": UNKNOWN}, self.runtime),
                         {**made, "input": "b", "output": "b"})
        self.assertEqual(update(made, {**made, "input": None, "output": UNKNOWN}, self.runtime)["output"], None)
        self.assertEqual(update(made, {**made, "output": "kept"}, self.runtime)["output"], "kept")

    def test_objects_without_a_world_never_drift_and_go_quietly(self) -> None:
        made = self.create("terraform_data", input="a")
        self.assertEqual(PROVIDERS["terraform_data"].read(made, self.runtime), made)
        PROVIDERS["terraform_data"].delete(made, self.runtime)


class Sleeps(InDirectory):
    """time_sleep waits at its create and its destroy, never at an update."""

    def test_a_create_waits_and_takes_the_time_as_id(self) -> None:
        made = self.create("time_sleep", create_duration="1.5m", destroy_duration="3h")
        self.assertEqual((self.slept, made["id"]), ([90.0], "2026-11-30T05:41:33Z"))

    def test_the_id_is_the_time_after_the_wait(self) -> None:
        clock = [0.0]

        def sleep(seconds: float) -> None:
            clock[0] += seconds
        runtime = Runtime(sleep, lambda: clock[0])
        planned = self.planned("time_sleep", create_duration="90s")
        self.assertEqual(PROVIDERS["time_sleep"].create(planned, runtime)["id"], "1970-01-01T00:01:30Z")

    def test_a_destroy_waits_as_the_state_says(self) -> None:
        PROVIDERS["time_sleep"].delete({"create_duration": "9s", "destroy_duration": "250ms"}, self.runtime)
        PROVIDERS["time_sleep"].delete({"create_duration": "9s"}, self.runtime)
        PROVIDERS["time_sleep"].delete({"create_duration": "9s", "destroy_duration": ""}, self.runtime)
        self.assertEqual(self.slept, [0.25])

    def test_nothing_waits_for_no_time(self) -> None:
        for text in ("0s", "00000000000000000000s", "0.000000000000000000000000001s"):
            self.create("time_sleep", create_duration=text)
        self.create("time_sleep", destroy_duration="99999999999h")
        self.assertEqual(self.slept, [])

    def test_an_update_does_not_wait_and_keeps_the_id(self) -> None:
        made = self.create("time_sleep", create_duration="0s")
        planned = {**made, "create_duration": "9s", "destroy_duration": "9s"}
        self.assertEqual((PROVIDERS["time_sleep"].update(made, planned, self.runtime), self.slept), (planned, []))

    def test_292_years_are_too_long(self) -> None:
        self.create("time_sleep", create_duration="2562047h")
        error = self.failure(self.create, "time_sleep", create_duration="2562048h")
        self.assertEqual((error.summary, error.detail, error.attributes, self.slept), (
            "Create time sleep error",
            'The create_duration cannot be parsed\n\n+Original Error: time: invalid duration "2562048h"', None,
            [2562047 * 3600.0]))
        made = self.create("time_sleep", destroy_duration="2562048h")
        self.assertEqual(self.failure(PROVIDERS["time_sleep"].delete, made, self.runtime).summary,
                         "Delete time sleep error")

    def test_an_interrupt_ends_the_wait_and_passes_through(self) -> None:
        class Interrupt(Exception):
            pass

        def sleep(seconds: float) -> None:
            raise Interrupt
        with self.assertRaises(Interrupt):
            PROVIDERS["time_sleep"].create(self.planned("time_sleep", create_duration="1s"), Runtime(sleep, float))


    def test_a_cancelled_wait_is_told_in_the_words_of_the_provider(self) -> None:
        stop = main.Stop()
        stop.event.set()
        runtime = Runtime(stop.sleep, float)
        made = {**self.planned("time_sleep", create_duration="1s", destroy_duration="1s"), "id": "x"}
        provider = PROVIDERS["time_sleep"]
        for verb, call in (("Create", provider.create), ("Delete", provider.delete)):
            error = self.failure(call, made, runtime)
            self.assertEqual((error.summary, error.detail, error.attributes),
                             (f"{verb} time sleep error", "Original Error: context canceled", None))


class GoDurations(unittest.TestCase):
    """Durations of a state or an option are read by Go's grammar, which takes several units and a sign."""

    def test_these_are_durations(self) -> None:
        for text, seconds in (("0", 0), ("1h30m", 5400), ("-1s", -1), ("+1s", 1), ("1.5s", 1.5), (".5s", 0.5),
                              ("1.s", 1), ("1us", 1e-6), ("1\u00b5s", 1e-6), ("1\u03bcs", 1e-6), ("7ns", 7e-9),
                              ("1m1ms", 60.001), ("1s1s", 2),
                              ("2562047h47m16.854775807s", (2**63 - 1) / 1e9),
                              ("-2562047h47m16.854775808s", -2**63 / 1e9)):
            self.assertEqual(main.parse_duration(text), seconds, text)

    def test_these_are_not(self) -> None:
        for text in ("", "5", "s", "1x", "1 s", "-", "1s ", "--1s", "1_0s", "\u0663s", ".s", "1h-1m", "9223372037s",
                     "2562047h47m16.854775808s", "-2562047h47m16.854775809s", f"{'9' * 1_100_000}h"):
            with self.assertRaisesRegex(ValueError, re.escape(f'time: invalid duration "{text}"')):
                main.parse_duration(text)


def number(text: str) -> Any:
    """Return a JSON number as the reader gives it: int, or Decimal where an int would lose something."""
    return Decimal(text) if text == "-0" or not re.fullmatch(r"-?[0-9]+", text) else int(text)


def as_evaluated(value: Any) -> Any:
    """Return a JSON value as reading and evaluation give it: clean NFC text, template escapes undone."""
    if isinstance(value, dict):
        return {as_evaluated(key): as_evaluated(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_evaluated(item) for item in value]
    if not isinstance(value, str):
        return value
    text = "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in value)
    return unicodedata.normalize("NFC", text).replace("$${", "${").replace("%%{", "%{")


def read_case(line: str) -> Dict[str, Any]:
    """Return one recorded case, numbers exact."""
    case: Dict[str, Any] = json.loads(line, parse_int=number, parse_float=number)
    return case


def only_for_root(case: Dict[str, Any]) -> bool:
    """Return whether the case makes a file that its owner cannot read, or a directory that he cannot write to."""
    return any(int(facts["mode"], 8) & (0o200 if name.endswith("/") else 0o400) == 0
               for name, facts in case.get("files_umask022", {}).items())


class RecordedCases(InDirectory):
    """What the real providers did with one resource: fixtures/providers.jsonl, a case a line."""

    def test_every_recorded_case(self) -> None:
        lines = (TESTS / "fixtures" / "providers.jsonl").read_text(encoding="utf-8").splitlines()
        for count, line in enumerate(lines):
            case = read_case(line)
            with self.subTest(case=count + 1, type=case["type"], args=case["args"]), \
                    tempfile.TemporaryDirectory() as directory:
                self.runtime = Runtime(self.slept.append, lambda: 0.0, directory)
                self.directory = directory
                if ROOT or not only_for_root(case):
                    self.check(case)

    def check(self, case: Dict[str, Any]) -> None:
        """Compare one case: where it fails and how, or the attributes, the files and a second look."""
        for name, content in case.get("given_files", {}).items():
            self.write(name, base64.b64decode(content["b64"]) if isinstance(content, dict) else content.encode())
        body = {name: as_evaluated(value) for name, value in case["args"].items()
                if name not in ("//", "lifecycle", "depends_on")}
        unknown_names = body.keys() - main.SCHEMAS[case["type"]].attributes
        if unknown_names:  # refused when the file is read
            self.assertEqual(case["error_summary"], "Extraneous JSON object property")
            return
        args, problems = main.convert_arguments(case["type"], body)
        problems = problems or main.check_arguments(case["type"], args)
        if case.get("phase") == "validate":
            return self.check_words(case, [(problem.summary, problem.detail) for problem in problems])
        self.assertEqual(problems, [])
        if "validate only" in case.get("note", ""):
            return
        planned = {**args, **dict.fromkeys(main.SCHEMAS[case["type"]].computed, UNKNOWN)}
        provider = PROVIDERS[case["type"]]
        if case.get("phase") == "apply":
            error = self.failure(provider.create, planned, self.runtime)
            self.check_words(case, [(error.summary, error.detail)])
            return self.check_attributes(case.get("tainted_state_attributes"), error.attributes)
        made = provider.create(planned, self.runtime)
        self.check_attributes(case["state_attributes"], made)
        self.check_files(case.get("files_umask022", {}))
        self.assertEqual(provider.read(made, self.runtime), made)

    def check_words(self, case: Dict[str, Any], found: List[Tuple[str, str]]) -> None:
        """Compare what the first error says."""
        self.assertTrue(found, "nothing was refused")
        self.assertEqual(found[0][0], case["error_summary"])
        self.assertIn(case["error_contains"], found[0][1] or found[0][0])

    def check_attributes(self, expected: Optional[Attributes], found: Optional[Attributes]) -> None:
        """Compare stored attributes; the dynamic ones are stored with their type."""
        if expected is None or found is None:
            return self.assertEqual(found, expected)
        self.assertEqual(found.keys(), expected.keys())
        for name, value in expected.items():
            if isinstance(value, dict) and "$regex" in value:
                self.assertRegex(found[name], value["$regex"])
            elif isinstance(value, dict) and value.keys() == {"value", "type"}:
                self.assertTrue(main.same(found[name], as_evaluated(value["value"])))
                self.assertEqual(main.type_of(found[name]), value["type"])
            else:
                self.assertEqual(found[name], value, name)

    def check_files(self, expected: Dict[str, Dict[str, str]]) -> None:
        """Compare the modes and bytes of what is there now."""
        for name, facts in expected.items():
            self.assertEqual(format(self.mode(name), "04o"), facts["mode"], name)
            if "hex" in facts:
                self.assertEqual(self.content(name).hex(), facts["hex"])


if __name__ == "__main__":
    unittest.main()
