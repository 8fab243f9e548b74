//! Memory that copied nouns point to.

use crate::memory::Pair;

/// A noun with the memory that it points to. Its lifetime is shortened to that of the borrow
/// wherever it is handed out.
pub(super) struct Owned<T> {
    pub value: T,
    _memory: Memory,
}

#[derive(Default)]
pub(super) struct Memory {
    texts: Vec<Box<str>>,
    pairs: Vec<Box<[Pair<'static>]>>,
}

impl Memory {
    /// A copy that lives as long as this memory; here, `'static` means no more than that.
    pub fn text(&mut self, given: &str) -> &'static str {
        self.texts.push(given.into());
        let own: *const str = &**self.texts.last().expect("it was pushed");
        // The box keeps its place until this is dropped.
        unsafe { &*own }
    }

    pub fn pairs(&mut self, given: &[Pair<'_>]) -> &'static [Pair<'static>] {
        let copied: Vec<Pair<'static>> = given
            .iter()
            .map(|pair| Pair::new(self.text(pair.key()), self.text(pair.value())))
            .collect();
        self.pairs.push(copied.into());
        let own: *const [Pair<'static>] = &**self.pairs.last().expect("it was pushed");
        unsafe { &*own }
    }
}

impl<T> Owned<T> {
    /// A noun, copied into a memory of its own.
    pub fn new(copy: impl FnOnce(&mut Memory) -> T) -> Owned<T> {
        let mut memory = Memory::default();
        let value = copy(&mut memory);
        Owned { value, _memory: memory }
    }
}
