//! Writes JSON.

use std::fmt::Display;

/// Writes JSON, with commas and escapes.
#[derive(Clone, Debug, Default)]
pub struct JsonWriter {
    out: String,
    needs_comma: bool,
}

impl JsonWriter {
    /// An empty writer.
    pub fn new() -> JsonWriter {
        JsonWriter::default()
    }

    /// The text of an object, whose members `body` writes.
    pub fn of_object(body: impl FnOnce(&mut JsonWriter)) -> String {
        let mut writer = JsonWriter::new();
        writer.object(body);
        writer.into_text()
    }

    /// The JSON so far.
    pub fn text(&self) -> &str {
        &self.out
    }

    /// The JSON so far.
    pub fn into_text(self) -> String {
        self.out
    }

    /// Writes an object whose members `body` writes.
    pub fn object(&mut self, body: impl FnOnce(&mut JsonWriter)) {
        self.enclosed('{', '}', body);
    }

    /// Writes an array whose elements `body` writes.
    pub fn array(&mut self, body: impl FnOnce(&mut JsonWriter)) {
        self.enclosed('[', ']', body);
    }

    /// Writes the name of a member; write its value next.
    pub fn key(&mut self, name: &str) -> &mut JsonWriter {
        self.string(name);
        self.out.push(':');
        self.needs_comma = false;
        self
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) {
        self.separate();
        self.out.push('"');
        escape(text, &mut self.out);
        self.out.push('"');
    }

    /// Writes an integer.
    pub fn integer(&mut self, value: impl Into<i128>) {
        self.raw(value.into());
    }

    /// Writes true or false.
    pub fn boolean(&mut self, value: bool) {
        self.raw(value);
    }

    /// Writes finished JSON.
    pub fn raw(&mut self, json: impl Display) {
        self.separate();
        self.out += &json.to_string();
    }

    /// Writes a member with a string, unless the string is empty.
    pub fn member(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.key(name).string(text);
        }
    }

    fn enclosed(&mut self, open: char, close: char, body: impl FnOnce(&mut JsonWriter)) {
        self.separate();
        self.out.push(open);
        self.needs_comma = false;
        body(self);
        self.out.push(close);
        self.needs_comma = true;
    }

    fn separate(&mut self) {
        if self.needs_comma {
            self.out.push(',');
        }
        self.needs_comma = true;
    }
}

/// Appends text, escaped for a JSON string, without quotes.
pub fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => *out += "\\\"",
            '\\' => *out += "\\\\",
            '\n' => *out += "\\n",
            '\r' => *out += "\\r",
            '\t' => *out += "\\t",
            '\0'..='\x1f' => *out += &format!("\\u{:04x}", c as u32),
            _ => out.push(c),
        }
    }
}
