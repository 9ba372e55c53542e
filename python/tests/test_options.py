"""The options of a search match the table (compiler/api/options.def): _options.py is generated from it
by `python -m tangram._option_types > python/tangram/_options.py`."""
import pathlib
import unittest

import tangram
from tangram import _core, _option_types


class Options(unittest.TestCase):
    def test_the_types_are_up_to_date(self):
        written = pathlib.Path(tangram.__file__).with_name("_options.py").read_text(encoding="utf-8")
        self.assertEqual(written, _option_types.text(_core.option_rows()))


if __name__ == "__main__":
    unittest.main()
