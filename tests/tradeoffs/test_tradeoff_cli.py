"""The verb at the command line: one JSON document, words on stderr, exit codes, and no output half done."""

import json

import pytest

from sfumato.cli import main
from sfumato.cli.tradeoff import release_options
from sfumato.plans import Plan
from sfumato.tradeoffs import Tradeoff


@pytest.fixture
def run(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["tradeoff", *map(str, arguments)])
        caught = capfd.readouterr()
        assert "Traceback" not in caught.err
        return int(ended.value.code or 0), caught.out, caught.err

    return call


def test_help_names_every_option_of_a_sweep_and_has_an_example(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "sfumato tradeoff" in out.split("Example:")[1]
    for option in (
        "levels",
        "epsilons",
        "gammas",
        "sizes",
        "counts",
        "ratios",
        "repeats",
        "rows",
        "seed",
        "plan",
        "json",
    ):
        assert f"--{option}" in out


def test_the_settings_swept_are_those_asked_for_and_json_stands_alone(run, tmp_path):
    code, out, err = run(
        "iris",
        "--noise",
        "substitution",
        "--gammas",
        "5, 12",
        "--sizes",
        "5,10",
        "--repeats",
        1,
        "--json",
        "-o",
        "t.json",
    )
    assert code == 0, err
    data = json.loads(out, parse_constant=pytest.fail)
    assert [p["setting"] for p in data["points"]] == [{"gamma": g, "bins": n} for g in (5, 12) for n in (5, 10)]
    assert [r["gamma"] for r in data["recommended"]] == [5, 12]
    assert data.pop("findings") == []  # the terminal's own: notes of this run
    assert data == json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert "wrote t.json" in err


def test_words_say_what_is_swept_what_to_begin_with_and_what_is_next(run, tmp_path):
    code, out, err = run("iris", "--noise", "square-wave", "--epsilons", "2,6", "--repeats", "2", "-o", "t.html")
    assert code == 0, err
    assert "epsilon = 2" in out
    assert "epsilon = 6" in out
    assert "next:  sfumato release iris -o release --target class --noise square-wave --set epsilon=" in err
    assert (tmp_path / "t.html").read_text("utf-8").startswith("<!doctype html>")
    code, out, err = run("iris", "-o", "t.html")
    assert (code, out) == (1, "")
    assert "t.html exists already" in err


def test_the_command_for_the_choice_makes_a_release(run, capfd):
    _, _, err = run("iris", "--method", "correlated-gaussian", "--ratios", "0.1,0.5", "--repeats", "1")
    command = err.split("next:  sfumato ")[1].split()
    with pytest.raises(SystemExit) as ended:
        main([*command, "--json"])
    assert ended.value.code == 0
    assert json.loads(capfd.readouterr().out)["joint"]["law"] == "correlated-gaussian"


def test_with_a_plan_the_words_for_the_plan_are_told(run, tmp_path):
    with pytest.raises(SystemExit):
        main(["plan", "iris", "-o", "plan.toml"])
    code, out, err = run("iris", "--plan", "plan.toml", "--levels", "0.1,0.25", "--repeats", "2")
    assert code == 0, err
    assert "privacy = 0.1" in out
    assert 'write noise = { law = "gaussian", privacy = 0.' in err


def test_plans_of_points_are_written_and_read_again(run, tmp_path):
    code, _, err = run(
        "iris", "--levels", "0.25,6", "--repeats", "1", "--write-plan", "0.25=weak.toml", "--write-plan", "recommended=best.toml"
    )  # fmt: skip
    assert code == 0, err
    assert "wrote the plan of privacy = 0.25 to weak.toml" in err
    assert Plan.load(tmp_path / "weak.toml").channels["petal_width"].privacy == 0.25
    best = Plan.load(tmp_path / "best.toml")
    assert best.channels["petal_width"].privacy == 6.0
    assert f"--privacy {best.channels['petal_width'].privacy:g}" in err
    code, _, err = run("iris", "--levels", "0.25,6", "--repeats", "1", "--write-plan", "0.25=weak.toml")
    assert (code, "weak.toml exists already" in err) == (1, True)


def test_questions_are_answered_in_words_and_in_json(run):
    asked = ["--question", "mean(petal_width)", "--question", "share(petal_width >= 1)"]
    code, out, err = run("iris", "--levels", "0.5,3", "--repeats", "2", *asked)
    assert code == 0, err
    assert "people found" in out
    assert "share(petal_width >= 1)" in out
    assert "By attacks: " in out
    _, out, _ = run("iris", "--levels", "0.5,3", "--repeats", "2", *asked, "--goal", "found=20%", "--json")
    data = json.loads(out)
    assert data["goal"] == {"found": 0.2}
    assert [q["question"] for q in data["points"][0]["measured"]["questions"]] == asked[1::2]
    assert data["points"][0]["measured"]["people_found"]["beyond_chance"] > 0.03


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["iris", "--levels", "0.5", "--write-plan", "0.7=p.toml", "--repeats", "1"],
            "there is no point 0.7; give recommended, or one of 0.5",
        ),
        (["iris", "--write-plan", "p.toml"], "--write-plan p.toml: write it as POINT=FILE"),
        (["iris", "--question", "max(petal_width)"], "question 'max(petal_width)' cannot be read; ask mean(COLUMN)"),
        (["iris", "--goal", "found=many"], "goal: 'found=many' cannot be read"),
        (["iris", "--levels", "0.1,much"], "--levels 0.1,much: 'much' is not a number"),
        (["iris", "--levels", ""], "--levels: no value to sweep; give some, such as 0.1,0.5,1"),
        (["iris", "--levels", "0.1,-1"], "--levels: -1 must be a positive number"),
        (["iris", "--gammas", "5"], "--gammas: gaussian has no parameter gamma to sweep; it takes --levels"),
        (["iris", "--method", "detective"], "detective bends the noise around a pattern"),
        (["iris", "--method", "laplace"], "laplace is noise for each column, not a method"),
        (
            ["iris", "--noise", "correlated-gaussian"],
            "correlated-gaussian is noise for several columns together, not for one: give it as --method",
        ),
        (["iris", "--noise", "laplace", "--method", "correlated-gaussian"], "--method takes the place of --noise"),
        (["iris", "--repeats", "0"], "--repeats 0 must lie between"),
        (["iris", "-o", "t.txt"], "t.txt: unsupported extension; use .html or .json"),
        (["iris", "--target", "colour"], "iris has no column 'colour'"),
        (["iris", "--target", "petal_width"], "petal_width: a target of numbers has no classes"),
    ],
)
def test_wrong_use_is_told_in_one_line_and_exits_with_2(run, arguments, message, tmp_path):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("law", "setting", "options"),
    [
        ("gaussian", {"privacy": 0.5}, "--noise gaussian --privacy 0.5"),
        ("substitution", {"gamma": 8.0, "bins": 20.0}, "--noise substitution --set gamma=8 --set bins=20"),
        ("correlated-gaussian", {"ratio": 1.0}, "--method correlated-gaussian --set ratio=1"),
        ("correlated-gaussian", {"privacy": 0.5}, "--method correlated-gaussian --set privacy=0.5"),
        ("gaussian", None, None),
    ],
)
def test_a_choice_is_told_as_release_takes_it(law, setting, options):
    assert release_options(Tradeoff(law, "class", 100, 0.9, ()), setting) == options
