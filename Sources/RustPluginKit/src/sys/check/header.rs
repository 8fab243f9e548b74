//! Parses the declarations of the C headers, as far as the contract uses the language, and
//! translates their types to Rust.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the headers declare.
#[derive(Default)]
pub struct Header {
    /// Fields with their Rust types, by struct.
    pub structs: BTreeMap<String, Vec<(String, String)>>,
    /// Function types in Rust, by name.
    pub functions: BTreeMap<String, String>,
    pub constants: Vec<String>,
}

impl Header {
    /// Reads a header and everything it includes by a relative path.
    pub fn read(path: &Path) -> Header {
        let mut header = Header::default();
        let mut known: Vec<PathBuf> = Vec::new();
        let mut waiting = vec![path.to_path_buf()];
        while let Some(path) = waiting.pop() {
            let path = path.canonicalize().expect("a header that is there");
            if known.contains(&path) {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("text");
            let folder = path.parent().expect("the folder of a header");
            for line in text.lines() {
                let name = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
                waiting.extend(name.map(|name| folder.join(name)));
            }
            header.take(&text);
            known.push(path);
        }
        header
    }

    fn take(&mut self, text: &str) {
        let text = without_comments(text).replace("\\\n", " ");
        let mut code = String::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.first() {
                // A constant has a value and no parameters. SBX_EXPORT is an attribute.
                Some(&"#define") if words.len() > 2 && !words[1].contains('(') => {
                    if words[1].starts_with("SBX_") && words[1] != "SBX_EXPORT" {
                        self.constants.push(words[1].to_string());
                    }
                }
                Some(word) if word.starts_with('#') => {}
                _ => code += &format!("{line}\n"),
            }
        }
        let mut tokens = Tokens::of(&code);
        while let Some(word) = tokens.next() {
            if word == "typedef" {
                self.definition(&mut tokens);
            }
        }
    }

    /// Parses what follows a `typedef`: a struct with a body, or a function type.
    fn definition(&mut self, tokens: &mut Tokens) {
        if tokens.peek(0) == "struct" && tokens.peek(2) == "{" {
            let name = tokens.peek(1).to_string();
            tokens.skip(3);
            let mut fields = Vec::new();
            while tokens.peek(0) != "}" {
                fields.extend(tokens.declaration(true));
                tokens.expect(";");
            }
            self.structs.insert(name, fields);
        } else if let Some((name, kind)) = tokens.declaration(false).pop() {
            if kind.starts_with("Option<") {
                self.functions.insert(name, kind);
            }
        }
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        out += &rest[..start];
        let end = rest[start..].find("*/").expect("the end of a comment");
        rest = &rest[start + end + 2..];
    }
    out + rest
}

struct Tokens {
    all: Vec<String>,
    at: usize,
}

impl Tokens {
    fn of(code: &str) -> Tokens {
        let mut all = Vec::new();
        let mut word = String::new();
        for c in code.chars().chain([' ']) {
            if c.is_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                all.push(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                all.push(c.to_string());
            }
        }
        Tokens { all, at: 0 }
    }

    fn next(&mut self) -> Option<String> {
        self.at += 1;
        self.all.get(self.at - 1).cloned()
    }

    fn peek(&self, ahead: usize) -> &str {
        self.all.get(self.at + ahead).map_or("", |word| word)
    }

    fn skip(&mut self, count: usize) {
        self.at += count;
    }

    fn accept(&mut self, word: &str) -> bool {
        let is_there = self.peek(0) == word;
        self.skip(is_there as usize);
        is_there
    }

    fn expect(&mut self, word: &str) {
        assert!(self.accept(word), "expected {word} and found {}", self.peek(0));
    }

    /// One declaration, of several names if `list`: names with their Rust types.
    fn declaration(&mut self, list: bool) -> Vec<(String, String)> {
        let is_const = self.accept("const");
        self.accept("struct");
        let base = rust(&self.next().expect("a type"));
        let mut out = Vec::new();
        loop {
            let mut kind = base.clone();
            let mut is_const = is_const;
            while self.accept("*") {
                kind = format!("*{}{kind}", if is_const { "const" } else { "mut" });
                is_const = self.accept("const");
            }
            out.push(if self.accept("(") { self.function(kind) } else { self.name(kind) });
            if !(list && self.accept(",")) {
                return out;
            }
        }
    }

    /// The name of a declaration, which parameters may omit, and an array's length.
    fn name(&mut self, kind: String) -> (String, String) {
        let is_name = self.peek(0).starts_with(|c: char| c.is_alphabetic());
        let name = if is_name { self.next().expect("a name") } else { String::new() };
        if !self.accept("[") {
            return (name, kind);
        }
        let length = self.next().expect("a length");
        self.expect("]");
        (name, format!("[{kind};{length}]"))
    }

    /// The rest of a function pointer, after its first parenthesis.
    fn function(&mut self, result: String) -> (String, String) {
        self.expect("*");
        let name = self.next().expect("a name");
        self.expect(")");
        self.expect("(");
        let mut parameters = Vec::new();
        while !self.accept(")") {
            let (_, kind) = self.declaration(false).remove(0);
            // No parameters: f(void).
            parameters.extend(Some(kind).filter(|kind| kind != "c_void"));
            self.accept(",");
        }
        let result = if result == "c_void" { String::new() } else { format!("->{result}") };
        let parameters = parameters.join(",");
        (name, format!("Option<unsafeextern\"C\"fn({parameters}){result}>"))
    }
}

fn rust(name: &str) -> String {
    match name {
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        "int32_t" => "i32",
        "int64_t" => "i64",
        "size_t" => "usize",
        "char" => "c_char",
        "void" => "c_void",
        other => other,
    }
    .to_string()
}
