//! Small pieces of markup.

/// Text as it may stand in markup and in attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A section with a heading.
pub fn section(id: &str, title: &str, body: &str) -> String {
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2>\n{body}</section>\n",
        escape(title)
    )
}

/// A picture with words under it.
pub fn figure(picture: &str, caption: &str) -> String {
    format!("<figure>{picture}<figcaption>{}</figcaption></figure>\n", escape(caption))
}

/// A table, its first column as heads of the rows, which scrolls by itself where it is wider than the page.
pub fn table(label: &str, heads: &[String], rows: &[Vec<String>]) -> String {
    let head: String = heads.iter().map(|h| format!("<th scope=\"col\">{}</th>", escape(h))).collect();
    let mut body = String::new();
    for row in rows {
        let mut cells = row.iter();
        let first = cells.next().map(|c| format!("<th scope=\"row\">{}</th>", escape(c))).unwrap_or_default();
        let others: String = cells.map(|c| format!("<td>{}</td>", escape(c))).collect();
        body.push_str(&format!("<tr>{first}{others}</tr>\n"));
    }
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n",
        escape(label)
    )
}

/// Something a reader may open.
pub fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>\n{body}</details>\n", escape(summary))
}

/// A list of names with their values.
pub fn facts(all: &[(String, String)]) -> String {
    let item = |(name, value): &(String, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
    };
    format!("<dl class=\"facts\">\n{}</dl>\n", all.iter().map(item).collect::<String>())
}

/// A number with five significant digits, for the page's data.
pub fn rounded(x: f64) -> f64 {
    format!("{x:.4e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_become_markup() {
        assert_eq!(escape("<script>\"a\" & 'b'\u{7}"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39; ");
        let text = table("t", &["<i>".into()], &[vec!["</td>".into()]]);
        assert!(!text.contains("<i>") && text.contains("&lt;/td&gt;"), "{text}");
    }
}
