//! Finds the recipients of an event by the config's rules.

use crate::attributes::Value;
use crate::config::text;
use crate::decode::CloudEvent;
use crate::errors::Reject;
use signalbox_plugin::*;
use std::collections::HashSet;

/// Most recipients that the gateway accepts in one event.
pub const COUNT_MAX: usize = 10_000;
const TOKEN_MAX: usize = 4_096;

/// The source of a recipient's field.
enum Selector {
    /// Not configured.
    None,
    /// `.`: the element itself.
    Element,
    /// `/a/b`: a JSON pointer into the element.
    Pointer(String),
    /// `@subject`: an attribute of the event.
    Attribute(String),
    /// Anything else: a fixed text.
    Fixed(String),
}

impl Selector {
    fn read(rule: Json<'_>, name: &str) -> Selector {
        let text = text(rule, name);
        match text.chars().next() {
            None => Selector::None,
            Some('/') => Selector::Pointer(text),
            Some('@') => Selector::Attribute(text[1..].to_string()),
            _ if text == "." => Selector::Element,
            _ => Selector::Fixed(text),
        }
    }

    /// The selected text; empty if it is missing.
    fn pick(&self, event: &CloudEvent<'_>, element: Option<Json<'_>>) -> String {
        let found = match self {
            Selector::None => None,
            Selector::Element => element,
            Selector::Pointer(pointer) => element.and_then(|element| element.at(pointer)),
            Selector::Attribute(name) => return attribute(event, name),
            Selector::Fixed(text) => return text.clone(),
        };
        // Ids come as text or as numbers.
        found
            .and_then(|json| {
                json.string()
                    .map(str::to_string)
                    .or_else(|| json.integer().map(|id| id.to_string()))
            })
            .unwrap_or_default()
    }
}

fn attribute(event: &CloudEvent<'_>, name: &str) -> String {
    match name {
        "subject" => event.subject.as_deref().unwrap_or("").to_string(),
        "source" => event.source.to_string(),
        "type" => event.kind.to_string(),
        "id" => event.id.to_string(),
        _ => match event.extensions.iter().find(|one| one.0 == name) {
            Some((_, Value::Text(text))) => text.to_string(),
            Some((_, Value::Integer(number))) => number.to_string(),
            _ => String::new(),
        },
    }
}

/// One entry of `recipients:`.
pub struct Rule {
    each: String,
    token: Selector,
    user: Selector,
    platform: Selector,
    app: Selector,
    provider: Selector,
    locale: Selector,
}

impl Rule {
    pub fn read(json: Json<'_>) -> Result<Rule> {
        let rule = Rule {
            each: text(json, "/each"),
            token: Selector::read(json, "/token"),
            user: Selector::read(json, "/user"),
            platform: Selector::read(json, "/platform"),
            app: Selector::read(json, "/app"),
            provider: Selector::read(json, "/provider"),
            locale: Selector::read(json, "/locale"),
        };
        let has = |selector: &Selector| !matches!(selector, Selector::None);
        if has(&rule.token) && !has(&rule.platform) {
            return Err(Error::invalid("recipients: a token needs a platform"));
        }
        if !has(&rule.token) && !has(&rule.user) {
            return Err(Error::invalid("recipients: give token and platform, or user"));
        }
        Ok(rule)
    }

    /// The elements that the rule applies to. Without data, a rule for the whole event still sees its attributes.
    fn elements<'a>(&self, event: &CloudEvent<'a>) -> Vec<Option<Json<'a>>> {
        match event.data.and_then(|data| data.at(&self.each)) {
            Some(list) if list.is_array() => list.elements().map(Some).collect(),
            Some(one) => vec![Some(one)],
            None if self.each.is_empty() => vec![None],
            None => vec![],
        }
    }

    fn apply(&self, event: &CloudEvent<'_>, element: Option<Json<'_>>) -> Result<Found, Reject> {
        let found = Found {
            token: self.token.pick(event, element),
            user: self.user.pick(event, element),
            platform: self.platform.pick(event, element),
            app: self.app.pick(event, element),
            provider: self.provider.pick(event, element),
            locale: self.locale.pick(event, element),
        };
        match (found.token.len(), found.user.is_empty(), found.platform.is_empty()) {
            (0, true, _) => Err(Reject::NoTokenOrUser),
            (1.., _, true) => Err(Reject::NoPlatform),
            (length, ..) if length > TOKEN_MAX => Err(Reject::TokenTooLong),
            _ => Ok(found),
        }
    }
}

/// A recipient found by a rule.
#[derive(PartialEq, Eq, Hash, Clone)]
pub struct Found {
    token: String,
    user: String,
    platform: String,
    app: String,
    provider: String,
    locale: String,
}

impl Found {
    pub fn borrowed(&self) -> Recipient<'_> {
        Recipient::device(Device {
            app: &self.app,
            platform: &self.platform,
            provider: &self.provider,
            token: &self.token,
            user: &self.user,
            locale: &self.locale,
            ..Device::default()
        })
    }
}

/// The valid recipients, and why others are rejected; a bad recipient does not affect the others.
pub fn find(rules: &[Rule], event: &CloudEvent<'_>) -> (Vec<Found>, Vec<Reject>) {
    let (mut found, mut rejects) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for rule in rules {
        for element in rule.elements(event) {
            match rule.apply(event, element) {
                Ok(one) if !seen.insert(one.clone()) => rejects.push((rule, Reject::DuplicateRecipient)),
                Ok(one) => found.push(one),
                Err(reject) => rejects.push((rule, reject)),
            }
        }
    }
    // A rule for the whole event that finds nobody is not an error if another rule finds somebody.
    if !found.is_empty() {
        rejects.retain(|(rule, reject)| {
            !(rule.each.is_empty() && matches!(reject, Reject::NoTokenOrUser))
        });
    }
    (found, rejects.into_iter().map(|one| one.1).collect())
}
