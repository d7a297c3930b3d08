#!/usr/bin/env python3
"""Tests the guards of the ABI: what they must refuse is refused, what they must accept is accepted.

  rules_test.py [C compiler]
"""
import copy
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plugin_api" / "abi"))
import abi_headers  # noqa: E402
import layout  # noqa: E402

COMPILER = "cc"


def load_check_abi():
    spec = importlib.util.spec_from_file_location("check_abi", ROOT / "tools" / "check_abi.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parsed(include):
    api = abi_headers.read(include)
    return layout.parse_layout(layout.layout_text(layout.measure(api, include, COMPILER), api))


class PrefixRule(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([sys.executable, "-B", str(ROOT / "plugin_api" / "abi" / "make_neighbours.py"), cls.folder.name],
                       check=True, stdout=subprocess.DEVNULL)
        cls.today = parsed(abi_headers.INCLUDE)
        cls.older = parsed(pathlib.Path(cls.folder.name) / "older" / "include")
        cls.newer = parsed(pathlib.Path(cls.folder.name) / "newer" / "include")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def changed(self, edit, struct="tenon_memory_vtable"):
        new = copy.deepcopy(self.today)
        edit(new[struct][3])
        return layout.prefix_problems(self.today, new)

    def test_neighbours_are_in_a_row(self):
        self.assertEqual(layout.prefix_problems(self.older, self.today), [])
        self.assertEqual(layout.prefix_problems(self.today, self.newer), [])
        self.assertTrue(layout.prefix_problems(self.today, self.older))
        self.assertTrue(layout.prefix_problems(self.newer, self.today))

    def test_every_growable_struct_has_neighbours(self):
        for name, (size, _, kind, members) in self.today.items():
            if kind == "grows":
                self.assertEqual(len(self.older[name][3]), len(members) - 1, name)
                self.assertEqual(len(self.newer[name][3]), len(members) + 1, name)
                self.assertEqual(size % 8, 0, name)
            else:
                self.assertEqual(self.newer[name][0], size, name)

    def test_append_is_accepted(self):
        self.assertEqual(self.changed(lambda members: members.append(("added", 80, 8, "uint64_t"))), [])

    def test_insert_swap_remove_and_signature_are_refused(self):
        self.assertTrue(self.changed(lambda members: members.insert(3, ("added", 24, 8, "uint64_t"))))
        self.assertTrue(self.changed(lambda members: members.pop(4)))
        self.assertTrue(self.changed(lambda members: members.pop()))

        def swap(members):
            (a, oa, wa, sa), (b, ob, wb, sb) = members[2], members[3]
            members[2], members[3] = (b, oa, wa, sa), (a, ob, wb, sb)
        self.assertTrue(self.changed(swap))

        def signature(members):
            name, offset, width, _ = members[5]
            members[5] = (name, offset, width, "void (*)(int)")
        self.assertTrue(self.changed(signature))

    def test_frozen_struct_may_not_grow(self):
        self.assertTrue(self.changed(lambda members: members.append(("added", 16, 8, "uint64_t")), "tenon_dim"))

    def test_changed_enumerator_is_refused(self):
        text = layout.constants_text(abi_headers.read())
        self.assertEqual(layout.constant_problems(text, text + "enum tenon_dtype TENON_DTYPE_NEW = 77\n"), [])
        self.assertTrue(layout.constant_problems(text, text.replace("TENON_DTYPE_BF16 = 16", "TENON_DTYPE_BF16 = 17")))


class Contracts(unittest.TestCase):
    def setUp(self):
        self.check = load_check_abi()
        self.api = abi_headers.read()

    def slot(self):
        return next(m for m in self.api.structs["tenon_memory_vtable"].members if m.name == "alloc")

    def test_complete(self):
        self.assertEqual(self.check.check_contracts(self.api), [])

    def test_each_field_is_demanded(self):
        whole = self.slot().comment
        for field in abi_headers.CONTRACT_FIELDS:
            self.slot().comment = whole.replace("@" + field, field)
            self.assertTrue(self.check.check_contracts(self.api), field)
        self.slot().comment = ""
        self.assertTrue(self.check.check_contracts(self.api))

    def test_unknown_values_are_refused(self):
        whole = self.slot().comment
        for old, new in (("@threads T3", "@threads T9"), ("@blocks device", "@blocks sometimes"), ("@since 1.0", "@since 1.7")):
            self.slot().comment = whole.replace(old, new)
            self.assertTrue(self.check.check_contracts(self.api), new)

    def test_shapes(self):
        self.assertEqual(self.check.check_shapes(self.api), [])
        self.api.structs["tenon_copy"].members[-1].comment = ""
        self.assertTrue(self.check.check_shapes(self.api))
        self.api = abi_headers.read()
        self.api.structs["tenon_copy"].members[3].signature = "size_t"
        self.assertTrue(self.check.check_shapes(self.api))


class Hash(unittest.TestCase):
    def test_any_changed_byte_changes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "tenon" / "abi"
            target.mkdir(parents=True)
            for header in abi_headers.headers():
                (target / header.name).write_bytes(header.read_bytes())
            self.assertEqual(abi_headers.header_hash(folder), abi_headers.header_hash())
            (target / "version.h").write_text("changed")
            self.assertEqual(abi_headers.header_hash(folder), abi_headers.header_hash())
            (target / "op.h").write_text((target / "op.h").read_text() + " ")
            self.assertNotEqual(abi_headers.header_hash(folder), abi_headers.header_hash())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop(1)
    unittest.main()
