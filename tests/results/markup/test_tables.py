"""Tables of texts: escaped, and with labels where a phone shows a line for each cell."""

from markupsafe import Markup

from sparsest.results.markup.tables import bar, breakable, table


def test_texts_are_escaped_and_markup_is_kept():
    shown = table(["a <b>", "share"], [["x & y", bar(0.5)]], right=[1])
    assert '<th class="name">a &lt;b&gt;</th>' in shown and "x &amp; y" in shown
    assert '<td class="right"><span class="bar" style="width: 2.5em"></span></td>' in shown


def test_cells_of_wide_tables_have_the_label_of_their_column():
    narrow = table(["a", "b", "c", "d"], [["1", "2", "3", "4"]])
    assert "data-label" not in narrow and 'class="many"' not in narrow
    wide = table(["name", "b", "c", "d", 'e "quoted"'], [["1", "2", "3", "4", "5"]], right=[4])
    assert '<table class="many">' in wide
    assert '<td data-label="b">2</td>' in wide
    assert '<td class="right" data-label="e &#34;quoted&#34;">5</td>' in wide


def test_long_names_may_be_broken_where_words_are_joined():
    assert breakable("a_b") == "a_b"
    assert breakable("mean_concave_points") == "mean_<wbr>concave_<wbr>points"
    assert breakable(Markup("<b>mean_concave_points</b>")) == "<b>mean_concave_points</b>"
