//! Writes JSON.

use std::fmt::Display;

/// Writes JSON; commas and escapes are its business.
#[derive(Clone, Debug, Default)]
pub struct JsonWriter {
    out: String,
    needs_comma: bool,
}

impl JsonWriter {
    /// Starts empty.
    pub fn new() -> JsonWriter {
        JsonWriter::default()
    }

    /// An object, whose members `body` writes.
    pub fn of_object(body: impl FnOnce(&mut JsonWriter)) -> String {
        let mut writer = JsonWriter::new();
        writer.object(body);
        writer.into_text()
    }

    /// What was written.
    pub fn text(&self) -> &str {
        &self.out
    }

    /// What was written.
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

    /// Writes the name of a member; its value comes next.
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

    /// Writes JSON that is ready.
    pub fn raw(&mut self, json: impl Display) {
        self.separate();
        self.out += &json.to_string();
    }

    /// Writes a member with a string, unless that is empty.
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

/// Appends text as the inside of a JSON string.
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
