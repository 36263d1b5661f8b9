"""What a release says about itself, in words: its README, and `describe`.

The words for a law or a guided method are the law's and the method's own (`in_words`); this room only puts them together.

readme       the README of a release folder, and the cautions that belong to a release
statement    the same as plain data, with privacy in every unit
"""

from sfumato.description.readme import cautions, readme
from sfumato.description.statement import describe, describe_manifest
