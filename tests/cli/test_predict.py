"""frugalforest predict: the model's answers, in chunks, whatever the format."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import frugalforest as ff
from frugalforest.cli.tables import TableFile, binary, text


def read(path):
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    if path.suffix == ".feather":
        return feather.read_table(path)
    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter="\t" if ".tsv" in path.name else ","))


@pytest.fixture
def expected(model):
    table = csv.read_csv("people.csv").drop_columns(["ill"])
    fitted = ff.load(model)
    label, bill = fitted.predict_with_cost(table)
    return label, bill, fitted.predict_proba(table), fitted.acquisition_mask(table)


@pytest.mark.parametrize("output", ["o.csv", "o.tsv", "o.csv.gz", "o.parquet", "o.feather"])
def test_answers_are_those_of_the_model(run, place, model, expected, output):
    result = run("predict", model, "people.csv", "-o", output)
    assert result.exit_code == 0, result.stderr
    label, bill, probabilities, _ = expected
    answers = read(place / output)
    assert answers.column_names == ["prediction", "P(ill)", "P(well)", "bill"]
    assert answers["prediction"].to_pylist() == label.tolist()
    np.testing.assert_allclose(answers["bill"].to_numpy(), bill)
    np.testing.assert_allclose(answers["P(well)"].to_numpy(), probabilities[:, 1])
    assert f"Average bill: {bill.mean():.2f}" in result.stdout


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet", "people.feather"])
def test_chunks_change_nothing(run, place, model, expected, name, monkeypatch):
    table = csv.read_csv("people.csv")
    if name.endswith("parquet"):
        parquet.write_table(table, name, row_group_size=50)
    elif name.endswith("feather"):
        feather.write_feather(table, name, chunksize=50)
    elif name.endswith("gz"):
        with pa.output_stream(name) as file:
            csv.write_csv(table, file)
    monkeypatch.setattr(text, "BLOCK", 1000)
    monkeypatch.setattr(binary, "CHUNK_ROWS", 16)
    sizes = []
    for kind in TableFile.__subclasses__():
        chunks = kind.chunks
        monkeypatch.setattr(
            kind, "chunks", lambda *a, chunks=chunks: (sizes.append(len(c[0])) or c for c in chunks(*a))
        )
    assert run("predict", model, name, "-o", "o.csv").exit_code == 0
    assert read(place / "o.csv")["prediction"].to_pylist() == expected[0].tolist()
    assert len(sizes) > 5
    assert max(sizes) < 100
    assert sum(sizes) == 240


def test_to_stdout(run, model, expected):
    printed = run("predict", model, "people.csv").stdout
    assert csv.read_csv(io.BytesIO(printed.encode()))["prediction"].to_pylist() == expected[0].tolist()


def test_kept_columns_features_and_truth(run, place, model, expected):
    more = ("--keep", "smoker", "--features", "--target", "ill", "--json", "-o", "o.csv")
    found = json.loads(run("predict", model, "people.csv", *more).stdout)
    people, answers = read(place / "people.csv"), read(place / "o.csv")
    label, bill, _, mask = expected
    assert answers["smoker"].to_pylist() == people["smoker"].to_pylist()
    assert answers["features"][0].as_py() == " ".join(np.array(people.column_names[:4])[mask[0]])
    assert found["error"] == np.mean(label != np.array(people["ill"].to_pylist()))
    assert found["average_bill"] == pytest.approx(bill.mean())
    assert sum(found["labels"].values()) == found["n_rows"] == 240


def test_columns_in_another_order_and_further_ones(run, place, model, expected):
    table = read(place / "people.csv")
    csv.write_csv(table.select(["smoker", "insulin", "ill", "age", "glucose"]), "other.csv")
    assert run("predict", model, "other.csv", "-o", "o.csv").exit_code == 0
    assert read(place / "o.csv")["prediction"].to_pylist() == expected[0].tolist()


def test_whole_numbers_and_text_columns_are_read_as_the_model_knows_them(run, place, model):
    """A column of text that looks like numbers, and one of numbers without a decimal point."""
    (place / "few.csv").write_text("age,glucose,insulin,smoker\n60,100,80,1\n,,,\n")
    assert run("predict", model, "few.csv", "-o", "o.csv").exit_code == 0
    assert read(place / "o.csv").num_rows == 2


def test_lacking_columns(run, place, model):
    (place / "few.csv").write_text("age,smoker\n60,no\n")
    result = run("predict", model, "few.csv", "-o", "o.csv")
    assert result.exit_code == 2
    assert "few.csv lacks 2 of the 4 columns that the model reads: glucose, insulin" in result.stderr
    assert not (place / "o.csv").exists()


def test_a_panel_needs_its_own_columns_only(run, place, fit_options):
    options = ["--budget", "2", "-m", "panel", "-o", "panel.ff", "--json"]
    assert run("fit", "people.csv", *fit_options, *options).exit_code == 0
    (place / "few.csv").write_text("age,smoker\n60,no\n30,yes\n")
    assert run("predict", "panel.ff", "few.csv", "-o", "o.csv").exit_code == 0
    assert read(place / "o.csv")["bill"].to_pylist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["bad.csv", "bad.parquet"])
def test_text_where_a_number_is_expected(run, place, model, name, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 1000)
    monkeypatch.setattr(binary, "CHUNK_ROWS", 16)
    table = read(place / "people.csv")
    glucose = [str(value) for value in table["glucose"].to_pylist()]
    glucose[99] = "high"
    table = table.set_column(1, "glucose", pa.array(glucose))
    csv.write_csv(table, name) if name.endswith("csv") else parquet.write_table(table, name)
    result = run("predict", model, name, "-o", "o.csv")
    assert result.exit_code == 2
    where = "line 101" if name.endswith("csv") else "row 100"
    assert f"column 'glucose' has the text 'high' in {where}, where a number is expected" in result.stderr
    assert {path.name for path in place.iterdir()} == {"people.csv", "prices.csv", "model.ff", name}
    if name.endswith("csv"):
        assert run("predict", model, name, "-o", "o.csv", "--missing", "high").exit_code == 0


def test_mistakes(run, place, model):
    assert "has no column 'id'" in run("predict", model, "people.csv", "-o", "o.csv", "--keep", "id").stderr
    assert run("predict", model, "people.csv", "--json").exit_code == 2
    (place / "bills.csv").write_text("age,glucose,insulin,smoker,bill\n60,100,80,no,7\n")
    assert "is a column of the answers" in run("predict", model, "bills.csv", "-o", "o.csv", "--keep", "bill").stderr
    assert "the end of the name does not say" in run("predict", model, "people.csv", "-o", "o.xlsx").stderr
    (place / "none.csv").write_text("age,glucose,insulin,smoker\n")
    assert "has no rows below its first line" in run("predict", model, "none.csv", "-o", "o.csv").stderr
    assert not list(place.glob("o.*"))


def test_a_model_without_names_goes_by_position(run, place):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    ff.StandardForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0).save("plain.ff")
    csv.write_csv(pa.table({name: X[:, i] for i, name in enumerate("abc")}), "plain.csv")
    assert run("predict", "plain.ff", "plain.csv", "-o", "o.csv").exit_code == 0
    assert read(place / "o.csv")["prediction"].to_pylist() == (X[:, 0] > 0).tolist()
    csv.write_csv(pa.table({"a": X[:, 0], "b": X[:, 1]}), "plain.csv")
    assert (
        "has 2 columns, and the model, which knows no names, reads 3" in run("predict", "plain.ff", "plain.csv").stderr
    )


def test_a_closed_pipe_is_no_error(shell, place, model):
    prelude = "import os; r, w = os.pipe(); os.close(r); os.dup2(w, 1)"
    result = shell("predict", model, "people.csv", prelude=prelude, cwd=place)
    assert result.returncode == 141
    assert result.stderr == ""


def test_a_panel_of_one_column(run, place, fit_options):
    assert (
        run("fit", "people.csv", *fit_options, "--budget", "1", "-m", "panel", "-o", "panel.ff", "--json").exit_code
        == 0
    )
    name = ff.load("panel.ff").acquisition_mask(csv.read_csv("people.csv"))[0].argmax()
    column = ["age", "glucose", "insulin", "smoker"][name]
    (place / "one.csv").write_text(f"{column}\n{'no' if column == 'smoker' else 60}\n")
    assert run("predict", "panel.ff", "one.csv", "-o", "o.csv").exit_code == 0
    (place / "one.csv").write_text("age smoker\n60 no\n")
    assert "has a single column, 'age smoker'" in run("predict", "panel.ff", "one.csv", "-o", "o.csv").stderr
