"""Everything the product warns of, by number: what it means, and what to do about it.

SF1xx  a plan and the table it was made from; noise chosen by a rehearsal (SF11x)
SF2xx  a release: cautions for everybody (SF20x), notes of guided methods for the owner (SF22x), the ledger (SF23x),
       how the table was read (SF26x), columns that point at people (SF27x), the verdict of an audit (SF28x),
       scales and clipped values (SF29x)
SF3xx  mining: distributions, trees, clusters, comparisons, trade-offs; drafts and the order of rows (SF31x)
SF4xx  an audit: what is in the open (SF40x), and why a promise is narrowed or broken (SF41x, SF42x)
SF5xx  answers to questions: what a figure rests on, and what cannot be told (SF50x); regression (SF55x)
SF6xx  rows drawn from the model of a table: given a release (SF60x), from the model alone (SF61x)

A number is never used again for something else. `docs/generate.py` writes a page for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from sfumato.errors import UsageError
from sfumato.text import join_names


@dataclass(frozen=True)
class Explanation:
    """One numbered finding.

    Parameters
    ----------
    code : str
        `SF` and three digits.
    title : str
        A few words.
    meaning : str
        What it says about the table, the release or the model.
    next_step : str
        What to do about it; "Nothing" where it is information.
    """

    code: str
    title: str
    meaning: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.code}: {self.title}\n\n{self.meaning}\n\nWhat to do: {self.next_step}"


class Note(str):
    """A sentence for people that knows its code.

    Examples
    --------
    >>> note = Note("SF102", "neighbouring rows are alike in income")
    >>> note, note.code
    ('neighbouring rows are alike in income', 'SF102')
    """

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> Self:
        """Attach a code that is in the list."""
        note = super().__new__(cls, text)
        note.code = FINDINGS[code].code
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Keep the code when the note is pickled or copied."""
        return self.code, str(self)


def explain(code: str) -> Explanation:
    """Return what a code such as SF102 means and what to do about it.

    Parameters
    ----------
    code : str
        A code as the terminal, the JSON or a report shows it; upper or lower case.

    Returns
    -------
    Explanation
        With `title`, `meaning` and `next_step`.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.explain("SF102").title
    'Neighbouring rows are alike'
    """
    entry = FINDINGS.get(code.strip().upper())
    if entry is None:
        raise UsageError(f"there is no finding {code!r}; the codes are {join_names(FINDINGS, 100)}")
    return entry


def code_notes(notes: Iterable[str]) -> list[dict[str, Any]]:
    """Return the notes as plain data, each with its code and title."""
    return [{"code": n.code, "title": FINDINGS[n.code].title, "words": str(n)} for n in notes if isinstance(n, Note)]


WORDS = {
    # --- plans ---
    "SF101": (
        "The domain was learned from the data",
        ("The plan took the ends or the labels of the column from the rows. They are published with the release, so a real "
         "smallest and largest value, or a real rare label, becomes public."),
        'Write what is publicly known into the plan (`domain` or `categories`) and remove `domain_from = "data"`.',
    ),
    "SF102": (
        "Neighbouring rows are alike",
        "The table looks sorted by this column. Where a release keeps the order of the rows, the noise of neighbours averages out.",
        "Shuffle the rows: keep `shuffle = true` under `[release]` in the plan, and give audits the key. Nothing needs their order.",
    ),
    "SF103": (
        "The column is withheld",
        "The plan proposes to leave the column out: it identifies people, is free text, has one value only, or cannot be read.",
        "If the column should be released, declare its kind and domain in the plan and change its `consent`.",
    ),
    "SF104": (
        "Texts were taken as missing",
        "These texts stand for a missing value in the column. Their cells stay visibly empty in the release.",
        "If one of them is an answer, remove it from `missing_values` in the plan.",
    ),
    "SF105": (
        "Words were taken as labels",
        "Words such as None or unknown stand in a column of labels and were kept as labels, because they can be answers.",
        "If they mean that there is no value, list them under `missing_values` in the plan.",
    ),
    "SF106": (
        "Values may mean something else",
        "Numbers that look like marks for missing (−999, 9999), or labels that look like numbers or days written in another way.",
        "List marks under `missing_values` and narrow the domain; rewrite numbers and days in the form that the message names.",
    ),
    "SF111": (
        "The noise was chosen by a rehearsal",
        "No strength was named, so the plan has the weakest noise at which few enough people are found by their true values.",
        "Read what it costs. Name another goal, or a strength of your own, and judge the release by an audit.",
    ),
    "SF112": (
        "Columns were withheld to protect people",
        "Together the columns point at people, even under strong noise. Those that cost least to do without are withheld.",
        "Release another selection of columns by a plan of your own, and judge it by an audit.",
    ),
    "SF113": (
        "The goal is out of reach, or cannot be confirmed",
        "Under the strongest noise more people are found than the goal allows, or the rows are too few for an audit to tell.",
        "Choose another law, withhold columns that point at people, or leave the class out.",
    ),
    "SF114": (
        "A promise does not hold at any strength",
        "Quick attacks leave less of the column than its noise promises, because other columns tell it.",
        "Withhold the column, or the one that tells it; an audit names both.",
    ),
    "SF115": (
        "The plan promises less than its noise",
        "Other columns tell more of it than its noise promises. The plan states what quick attacks leave; an audit judges by that.",
        "Withhold the columns that tell it, or promise the smaller figure.",
    ),
    "SF116": (
        "A column is guessed whatever its noise",
        "More than half of what was unknown of the column follows from other columns, such as a class that is released as it is.",
        "Withhold the column, or the one that tells it; or publish with care.",
    ),
    # --- releases ---
    "SF201": (
        "Columns are released as they are",
        "The columns hold true values. Anyone who knows them of a person can find the person's row.",
        "Withhold the columns or blur them, unless the people agreed to this.",
    ),
    "SF202": (
        "Missing values are left missing",
        "An empty cell in the release was empty in the original, so the release shows who has no value.",
        'In a categorical column set `missing = "category"` in the plan: noise then covers absence too.',
    ),
    "SF203": (
        "Missing values were swapped",
        "The method moved empty cells like any other value. An empty cell is usually another person's.",
        "Nothing. Do not read an empty cell as a fact about the row.",
    ),
    "SF204": (
        "Most cells hold their true value",
        "The steps of the column's grid are wide compared with the noise, so rounding takes the noise away in most cells.",
        "Ask for more privacy, or declare the column categorical and use substitution.",
    ),
    "SF205": (
        "No finite ε holds",
        "The law gives no bound of differential privacy for the column: some released value can rule some true value out, or nearly.",
        "Use laplace, square-wave, substitution or projective where a finite ε is needed.",
    ),
    "SF206": (
        "No figure holds value by value",
        "A guided method changed values around a pattern of the whole table. There is no interval and no ε for a single value.",
        "Mine the release as it is. The owner runs `sfumato audit` to see what an intruder can still find out.",
    ),
    "SF207": (
        "A limit of the guided method",
        "The method states what it does not protect, for any table it is used on.",
        "Read it before you publish, and before you draw conclusions from single rows.",
    ),
    "SF208": (
        "The noise of several columns is correlated",
        "The noise of these columns was drawn together. One column alone may be treated as gaussian; two are not independent.",
        "Correct covariances with the published matrix: Σx = Σy − Σr.",
    ),
    "SF209": (
        "The same rows were released before",
        "Releases of the same rows with independent noise can be averaged, which weakens the privacy stated for each of them.",
        "Keep to one release. Audit them together: `sf.audit(original, release, others=[…])`.",
    ),
    "SF210": (
        "Noise belongs to the entity",
        "A person who appears in another release under the same law with the same value has the same noise there.",
        "Nothing: asking again teaches nothing new. Do not average over such releases.",
    ),
    "SF221": (
        "The method left columns unchanged",
        "No value of these columns changed, so they are as public as in the original.",
        "Withhold the columns, or perturb them by another method.",
    ),
    "SF222": (
        "The method hardly changed a column",
        "Fewer than 5 % of the values changed, which protects hardly anybody.",
        "Raise the noise, or perturb the column by another method.",
    ),
    "SF223": (
        "Rare classes were left out",
        "A class of one or two rows does not hide its people while the class stays readable, so its rows are not in the release.",
        "Merge the class with another one in the table to have the rows in.",
    ),
    "SF224": (
        "Values in small cells stayed",
        "Some rows are nearly alone in their leaf and class and found no row to swap these values with.",
        "The option `small=suppress` leaves such rows out.",
    ),
    "SF225": (
        "Rows swapped with other classes",
        "Some rows found no partner of their class and exchanged values with other classes of their leaf, so their rule is weaker.",
        "The option `small=suppress` leaves such rows out.",
    ),
    "SF226": (
        "Rows in small cells were left out",
        "Some rows had no row to swap with and are not in the release.",
        "Nothing, or the option `small=climb` to swap them further away.",
    ),
    "SF227": (
        "Unique rows stayed as they are",
        "By chance some rows kept every value, and no other row is like them: anyone who knows the values finds the row.",
        "Run `sfumato audit`, which names the rows. Leave them out, merge rare labels, or perturb more columns.",
    ),
    "SF228": (
        "The method takes the place of the plan's noise",
        "The plan gives these columns noise of their own, but a guided method was chosen for the whole table.",
        "Remove one of the two from the plan.",
    ),
    "SF229": (
        "Noise relative to the value leaves zeros",
        "Noise in proportion to a value does not change a 0, and the column has many.",
        "Use additive noise: the option `noise=additive`.",
    ),
    "SF230": (
        "Class noise hides few classes",
        "An intruder who can place a row in its leaf knows the class of most rows. Only rows of a leaf's minority are protected.",
        "Use leaf-swap, or a law, where the class itself is sensitive.",
    ),
    "SF231": (
        "The ledger cannot recognise these rows",
        "Most rows look alike, so the ledger cannot tell whether a later table holds the same people.",
        "Keep count of releases of this table yourself, or tie the noise to people with an id column.",
    ),
    "SF232": (
        "The ledger has no copy",
        "A copy of the ledger in the owner's state folder shows when an older ledger is put in its place. There is none.",
        "Make the state folder writable (XDG_STATE_HOME, or ~/.local/state); the next release writes the copy.",
    ),
    # --- reading ---
    "SF233": (
        "The name is another table's",
        ("Under one key and one name, equal values in equal rows get equal noise. Of two tables that share both, two releases show "
         "where the tables agree. With a key file the ledger refuses it; a key in memory has none."),
        "Choose another name, or keep the key in a file.",
    ),
    "SF261": (
        "How the table was read",
        ("The file is not a plain one (commas between fields, decimal points, days as 2024-12-31, UTF-8, nothing before the "
         "header). The note says what was found instead, and the plan remembers it under [reading]."),
        ("Look whether it is right. If not, say so when the table is opened (`delimiter`, `decimal`, `thousands`, `date_format`, "
         "`encoding`, `comment`, `skip_rows`, `sheet`), or change the [reading] of the plan."),
    ),
    "SF262": (
        "A spelling that can be read in two ways",
        ("No row says whether 01/02/2024 is in January or in February, or whether 1,234 is a thousand or little more than one. "
         "The note says which way was taken."),
        "Name the right one with `date_format` or `decimal`. A wrong one shifts every value of the column.",
    ),
    "SF263": (
        "The time of day is left out",
        ("A column of days has the resolution of a day. Its times of day are not read and not released; the day is that of the "
         "clock in the table, whatever its zone."),
        "Nothing, if days are enough. Otherwise add a column for the time, such as its hour, before the release.",
    ),
    "SF271": (
        "The column points at people",
        ("Its name or its values show names, addresses, numbers or ids of people, or free text. Anyone who knows them finds the "
         "person, and no noise hides that. The plan withholds the column."),
        ("Leave it withheld. If the column is something else, change its `consent` in the plan, declare its domain, and give it "
         "noise; `consent = \"true\"` releases it as it is."),
    ),
    "SF272": (
        "Columns point at people together",
        ("A birth date, a postal code or an exact moment does not name a person, but together with a few other facts it is often "
         "true of one person only."),
        "Coarsen the columns (year, region, day) or withhold one of them; audit the release to see how many people are found.",
    ),
    "SF273": (
        "People have several rows",
        ("An id stands in several rows. The plan ties the noise to the id and withholds it: equal values of a person get the same "
         "noise, so that averaging them removes nothing, and the release states its privacy per person too."),
        ("Check that the column names people. If its rows belong to different people, set `role = \"attribute\"`; name another column "
         "as the id where that is the person."),
    ),
    "SF274": (
        "Another law is estimated better",
        ("The column has many labels. At the same γ, a miner estimates their shares with less error from projective reports than from "
         "substituted labels. The law that was asked for is used all the same."),
        "Nothing, or write `law = \"projective\"` for the column in the plan: the same privacy, less error, but cells that are codes.",
    ),
    "SF275": (
        "Privacy per person",
        ("Some people have several rows. Different values of one person have independent noise, so their mean is known better than any "
         "of them, and ε adds up over them. The sum holds between people whose values repeat in the same rows."),
        "Release fewer rows of each person, or one row with their mean; or ask for more privacy per row.",
    ),
    "SF276": (
        "Rows of one person are alike",
        ("Noise belongs to person and value. Two rows of a person with the same value are released alike, so rows can be put "
         "together, and a changed value shows. Standard errors that count rows as independent are too small."),
        "Count people, not rows, where errors are computed. Withhold columns that never change if rows must not be put together.",
    ),
    "SF278": (
        "Ids are alike",
        ("Some ids differ in blanks at their ends, in leading zeros or in their form of Unicode alone, as 007 and 7 do. Noise belongs "
         "to an id as it is written, so a person who stands in the table in two forms has two draws of noise, which average."),
        "Write each id in one way before the release, and in the same way in every later one. Nothing, if they are different people.",
    ),
    # --- the verdict of an audit ---
    "SF281": (
        "People are found in the release",
        "Who knows a person's true values finds the person's row in the release, beyond chance, more often than the limit allows.",
        "Ask for more privacy in the columns that point at people most, or withhold them.",
    ),
    "SF282": (
        "A column is given away",
        "A column that was to be hidden is guessed right from the release much more often than without it.",
        "Ask for more privacy for this column, or withhold it.",
    ),
    "SF283": (
        "A stated promise is more than is left",
        "The owner states an interval for this column in the place of the law's own, and an attack leaves less.",
        "State no more than is left, or ask for more privacy for this column.",
    ),
    "SF284": (
        "A column follows from another",
        "An attack guesses this column from another one, and as well of people who are not in the release: how the two go together.",
        "Nothing, if that pattern is what the release is for. Otherwise blur or withhold the other column.",
    ),
    "SF285": (
        "Fit to publish",
        "No attack tried found people beyond the limit, gave a hidden column away or broke a promise.",
        "Nothing. File the report with the release.",
    ),
    "SF251": (
        "Nearly every cell tells its true value",
        "The law of these labels keeps the true value, or a report that points at it, in more than 99 of 100 cells.",
        "Ask for a smaller gamma or epsilon, or release the column as true and say so.",
    ),
    "SF252": (
        "Texts look like formulas of a spreadsheet",
        "A label or a column name begins with =, +, -, @, a tab or a line end. A spreadsheet may run it when the CSV file is opened.",
        "Release to Parquet, or import the CSV file as text. Labels are data, so they are not changed.",
    ),
    # --- mining ---
    "SF291": (
        "Values were clipped",
        "The column is clipped, and this many of its values lay beyond the ends of its domain. They were moved to the nearer end.",
        "Nothing, if few were moved. Widen the domain in the plan where the tail matters.",
    ),
    "SF292": (
        "Noise acts on a scale",
        "Noise is a share of the column's scale: small where values are crowded, large in the tail. A plain mean is far off.",
        "Use reconstruct, mine or the other verbs, which answer in the column's unit.",
    ),
    "SF293": (
        "A scale was proposed",
        "A few values stretch the range of the column so far that noise on it would drown all others.",
        "Keep the line, change the scale or its unit, or delete the line for noise on the plain range.",
    ),
    "SF301": (
        "A column was not reconstructed",
        "The column has no single value in the release, or cannot be reconstructed by the chosen method.",
        "Choose another method, or do without the column.",
    ),
    "SF302": (
        "How the strategy was chosen",
        "`auto` compares boosted trees and a joint map by held-out released rows, `tree` compares ways to grow one tree.",
        "Nothing. Leads smaller than half of the interval are within the noise: this release cannot tell these strategies apart.",
    ),
    "SF303": (
        "Rows without a known class",
        "The class of these rows is missing, or is a label the model has never seen. They are not part of the accuracy.",
        "Check the labels of the class column.",
    ),
    "SF304": (
        "A column took no part in the clusters",
        "k-means needs complete numbers. Labels and columns with missing values take no part.",
        "Nothing, or fill the missing values before the release.",
    ),
    "SF305": (
        "Small clusters were merged",
        "A cluster of very few rows is neither stable nor private and was merged with its neighbour.",
        "Ask for fewer clusters (`-k`).",
    ),
    "SF306": (
        "Only part of the rows was compared",
        "The tables are larger than the sample, so the figures are those of a sample chosen by row number.",
        "Raise `sample` where memory allows.",
    ),
    "SF307": (
        "Trees or clusters were not compared",
        "There is no class, no complete numeric column, or too few rows to compare.",
        "Name the class (`target`) when you release, or read the reason given.",
    ),
    "SF308": (
        "A setting of the trade-off was left out",
        "The law cannot be bound to some column at this setting.",
        "Read the reason given, and choose other settings.",
    ),
    "SF309": (
        "Another law stands in for some columns",
        "The law that is swept does not act on these columns (labels, or numbers). Another law of the same strength takes its place.",
        "Nothing, or write a plan that names a law for each column.",
    ),
    # --- drafts and plans side by side ---
    "SF311": (
        "The release is a draft",
        "Its owner is still trying plans. Its rows may get other noise in the release that is published; who holds both can average.",
        "Do not pass it on. Its owner audits it, then runs `sfumato publish DIR`, or `sfumato withdraw DIR`.",
    ),
    # --- audits ---
    "SF400": (
        "A promise is narrowed or broken",
        "After an attack the interval that holds the true value is smaller than the law promises.",
        "Read which attack did it and what it was granted; ask for more privacy.",
    ),
    "SF401": (
        "Nothing is hidden",
        "Every column is released as it is. The risk is 100 %.",
        "Release the table with noise.",
    ),
    "SF402": (
        "Some columns are in the clear",
        "These columns are released as they are, as the plan asks.",
        "Nothing, if people agreed to it. Otherwise withhold or blur them.",
    ),
    "SF403": (
        "A column was not measured",
        "No attack could be scored on the column, so nothing is known about it.",
        "Do not count it as kept. The reason stands beside the column.",
    ),
    "SF404": (
        "People can be found",
        "An intruder who knows true values of a person finds the person's row more often than chance allows.",
        "Withhold columns that others may know, release fewer of them as they are, or add noise.",
    ),
    "SF405": (
        "Rows are released unchanged",
        "Some rows kept every modified value and are like no other row: anyone who knows one finds it.",
        "Leave these rows out (leaf-swap: `small=suppress`), merge rare labels, or perturb more columns.",
    ),
    "SF406": (
        "The ledger knows several releases of these rows",
        "The same rows were released several times with noise of their own. Anyone who holds them all can average.",
        "Release no more, and withdraw what you can.",
    ),
    "SF407": (
        "The manifest names earlier releases",
        "The same rows were released before with independent noise, and they were not part of this audit.",
        "Audit them together (`others`), or give the key (`key`) to ask the ledger.",
    ),
    "SF411": (
        "The column's own distribution narrows it",
        "Most people have similar values, and the release is meant to tell the distribution. Together they leave a smaller interval.",
        "Ask for more privacy, or state the smaller figure.",
    ),
    "SF412": (
        "Other columns give it away",
        "The columns are correlated and their noise is not, so the noise can be filtered out.",
        "Release fewer of them, or use correlated noise: the method `correlated-gaussian` with `ratio=1` (or more of it).",
    ),
    "SF413": (
        "Another column names the group",
        "A column says which group a person belongs to, and the group is narrower than the promised interval.",
        "Withhold that column, blur it (or blur it more), or state the smaller figure.",
    ),
    "SF414": (
        "The order of the rows gives it away",
        "Neighbouring rows are alike, and their noise averages out.",
        "Shuffle the rows before you release them.",
    ),
    "SF415": (
        "Several releases average out",
        "Releases of the same rows have independent noise. Their average is closer to the truth than any of them.",
        "Keep to one release, or tie the noise to people with an id column; withdraw what you can.",
    ),
    "SF416": (
        "One draw of noise was used at two scales",
        "Two releases share a draw of noise at different scales, so the noise cancels out exactly.",
        "Withdraw one of the releases, and give each law its own noise.",
    ),
    "SF417": (
        "A few known rows undo the method",
        "The same transformation was applied to all rows, and a few known rows are enough to find it.",
        "Add noise of its own to every row.",
    ),
    "SF418": (
        "Clusters are nearly linear images",
        "Inside a cluster the release is nearly a linear function of the original, which known rows reveal.",
        "Use a method that perturbs each row by itself.",
    ),
    "SF419": (
        "The release is a reflection",
        "Rows were mirrored about a centre, and mirroring them again gives the original.",
        "Use another method.",
    ),
    "SF420": (
        "The low digits are true",
        "The noise lies on a coarser grid than the data, so the digits below it are the true ones.",
        "Release on the attribute's own grid.",
    ),
    "SF421": (
        "The law undoes itself",
        "Blurring the release once more brings true values back.",
        "Use another law.",
    ),
    "SF422": (
        "The released value is too close",
        "The released value itself is nearer to the true one than the law promises.",
        "Check that the data is the data of this manifest, and report a fault of the law.",
    ),
    "SF423": (
        "The grid rounds the noise away",
        "The steps of the column's grid are wide compared with the noise, so most cells hold their true value.",
        "Ask for more privacy, or declare the column categorical and use substitution.",
    ),
    "SF277": (
        "A person's rows together give it away",
        "Somebody who knows which rows are one person's averages them: the person's rows are alike, and their noise is not.",
        "Tie the noise to people (`identifier`), release fewer rows of each person, or ask for more privacy.",
    ),
    "SF424": (
        "The values are nearly the true ones",
        "A guided method changed this column so little that the released values can be read as true.",
        "Use a method that changes this column, or add noise.",
    ),
    "SF425": (
        "The other columns together give it away",
        "A model of all columns says what a value is from the person's other values, more narrowly than the noise promises.",
        "Blur the columns that go with it more, withhold some, or state the smaller figure.",
    ),
    # --- questions ---
    "SF501": (
        "Figures of changed values",
        ("A guided method changed these columns and states no law value by value, so nothing corrects for it. The figures are "
        "those of the released table, and have no error."),
        "Trust the pattern the method keeps, and ask a release with noise for single figures.",
    ),
    "SF502": (
        "Rows of one person share their noise",
        ("Noise belongs to people, and some have several rows. Equal values of one person have the same noise, so it does not "
        "average out over their rows. The errors are those of the worst case, in which all values of a person are equal."),
        "Nothing; or ask of a table with one row per person.",
    ),
    "SF503": (
        "Some figures cannot be told",
        ("So few rows are behind these figures, or so much noise is on them, that no honest interval is narrow enough to mean "
        "anything."),
        "Ask for larger groups or fewer of them, or for a count in the place of a mean.",
    ),
    "SF504": (
        "Where in its bin a value lies is not released",
        ("The law of a column releases bins. A figure that depends on where inside its bin a value lies is known between two "
        "bounds; the estimate takes the values to lie evenly inside."),
        "Cut the column at edges of its bins, which the manifest lists.",
    ),
    "SF505": (
        "A range of blurred numbers is fitted",
        ("Noise that spreads a number smoothly leaves no unbiased count of a range. The likely interval comes from a fit whose "
        "smoothness was chosen from the release, and holds in about 93 of 100 ranges on average over columns. The guaranteed one "
        "assumes nothing of the column: it holds every share that some column has which agrees with the released values."),
        "Use the guaranteed interval where a decision depends on this one range.",
    ),
    "SF551": (
        "Rows of one entity share their noise",
        "Some entities have several rows, and equal values of one entity carry equal noise, which does not average out.",
        "Nothing: errors are widened by the root of the largest number of rows that an entity has.",
    ),
    "SF552": (
        "A number is known up to its bin",
        "The law of a column of numbers tells bins, and where in its bin a value lies is not released.",
        "Read the coefficient as that of the middle of the bin, or write C(column) for one coefficient per bin.",
    ),
    "SF553": (
        "The bend of the logistic curve is hidden",
        "The noise of the predictors is strong beside what they tell, so the curve can be corrected in part only.",
        "Leave the noisiest predictor out, use more rows, or fit a linear probability with family gaussian.",
    ),
    "SF554": (
        "Coefficients are shrunk on purpose",
        "A ridge penalty moves coefficients towards 0; intervals speak of the coefficients with the same penalty on true values.",
        "Leave the penalty out where the rows can tell the coefficients without it.",
    ),
    "SF555": (
        "An error is known roughly",
        "The variance that the noise adds is itself an estimate, and on these rows it is off by a third or more.",
        "Nothing: the error is rounded up. More rows make it sharp.",
    ),
    # --- rows drawn from the model of a table ---
    "SF601": (
        "Draws are guesses",
        ("Each row of a draw is one guess at the true row behind a released one, by a model of the whole table. It is not the "
         "true row of any person. The tables differ by what the release does not tell: noise, and the model itself."),
        "Use all tables: compute the statistic on each, and pool the results with `draws.pool`, which measures its bias, too.",
    ),
    "SF602": (
        "Columns were drawn as released",
        "A guided method changed the columns and states no law of single values, so nothing says how far off each value is.",
        "Take their figures as those of the released table; their intervals do not cover what the method changed.",
    ),
    "SF603": (
        "Rows of one person were drawn as if independent",
        "An entity has several rows, and their noise goes together. The model takes rows to be independent: draws differ too little.",
        "Use one row per entity, or read intervals as too narrow.",
    ),
    "SF611": (
        "A twin is made up",
        ("The rows come from the model of a release alone. They are not those of any person, and hold no more of the true rows than "
         "the model found."),
        "Use it to develop and to teach; ask the release itself, or its draws, about the true rows.",
    ),
}  # fmt: skip
"""Of every finding its title, its meaning and the next step."""
FINDINGS = {code: Explanation(code, *words) for code, words in WORDS.items()}
"""Every numbered finding by its code."""
