import Foundation
import Testing

/// Promises of the contract that are stated in words, checked against the headers.
@Suite struct RuleTests {
    let headers = Headers.current
    /// `(*name)(`
    static var function: Regex<Substring> { /\(\*[a-z0-9_]+\) *\(/ }

    @Test func `every function of the contract has a comment with its thread`() async throws {
        for header in try headers.files() {
            let text = try headers.text(header)
            let hasFunctions = text.contains(Self.function)
            #expect(!hasFunctions || text.contains("Thread:"), "\(header)")
        }
    }

    /// A comment and what follows it, up to the end of the declaration.
    private static var declared: Regex<(Substring, Substring, Substring)> {
        /\/\*((?:[^*]|\*(?!\/))*)\*\/(?!\s*\/\*)\s*([^;{}]*?;)/
    }

    @Test func `every function of a plugin says in which states it may be called`() async throws {
        let states: Set = ["none", "created", "started", "stopped", "always"]
        let types = try headers.text("signalbox/types.h")
        for state in states {
            #expect(types.contains(" *   [\(state)]"), "[\(state)] is not explained")
        }
        var count = 0
        for header in try headers.files() {
            for found in try headers.text(header).matches(of: Self.declared) {
                let (comment, code) = (found.output.1, found.output.2)
                let isService = code.contains("sbx_host *host, const char *id")
                let isPlugins =
                    header.hasSuffix("/plugin.h")
                    ? code.contains(Self.function) && !isService
                    : code.contains("sbx_instance *instance,")
                guard isPlugins, code.contains("(*") else { continue }
                count += 1
                let named = comment.matches(of: /State: \[([a-z]+)\](?: or \[([a-z]+)\])?/)
                #expect(named.count == 1, "\(header): \(code)")
                let words = named.flatMap { [$0.output.1, $0.output.2].compactMap(\.self) }
                #expect(states.isSuperset(of: words.map(String.init)), "\(header): \(code)")
            }
        }
        // create, role, start, stop, destroy, the entry, fourteen of the roles, and refresh.
        #expect(count == 22)
    }

    @Test func `the layout misses nothing that the headers declare`() async throws {
        let layout = try await Layout.of(headers)
        let text = try headers.files().map { try headers.text($0) }.joined()
        func names(_ pattern: String) throws -> Set<String> {
            Set(
                text.matches(of: try Regex(pattern).anchorsMatchLineEndings()).compactMap {
                    $0.output[1].substring.map { String($0) }
                })
        }
        let structs = try names("^typedef struct ([A-Za-z0-9_]+) \\{")
        #expect(structs == Set(layout.names))
        // Include guards have no value, and macros with arguments are no constants.
        let constants = try names("^ *# *define ([A-Za-z0-9_]+)[ \t]+[^ \t\n]")
        let listed = (layout.facts("constant") + layout.facts("id")).compactMap {
            $0.split(separator: " ").first.map { String($0) }
        }
        #expect(constants == Set(listed))
        let functions = text.matches(of: Self.function).count
        let told = (layout.facts("function") + layout.facts("type")).map {
            $0.matches(of: Self.function).count
        }
        #expect(functions == told.reduce(0, +))
    }

    @Test func `types have the same size everywhere`() async throws {
        let words = try Regex(
            "(^|[ (,*])(enum|union|bool|_Bool|char16_t|short|int|unsigned|long|float|double|\\.\\.\\.|wchar_t"
                + "|time_t|off_t|ssize_t|va_list)([ ),*]|$)|:[0-9]")
        let layout = try await Layout.of(headers)
        for line in layout.lines where !line.hasPrefix("constant") && !line.hasPrefix("id") {
            #expect(line.firstMatch(of: words) == nil, "\(line)")
        }
        // The check itself: it finds such words.
        for bad in ["field s 0 unsigned int x", "type void (*f)(char *format, ...)"] {
            #expect(bad.firstMatch(of: words) != nil)
        }
    }

    @Test func `no struct that may grow is inside another`() async throws {
        let layout = try await Layout.of(headers)
        for (name, one) in layout.structs {
            for field in one.fields where field.text.hasPrefix("struct ") {
                let type = field.text.split(separator: " ")[1]
                guard !field.text.contains("*"), let inner = layout.structs[String(type)] else {
                    continue
                }
                #expect(!inner.grows, "\(name) has a \(type) inside, which may grow")
            }
        }
    }

    @Test func `ids of roles and services bear their own version`() async throws {
        let ids = try await Layout.of(headers).facts("id")
        #expect(ids.count >= 18)
        for id in ids {
            #expect(id.contains(/^SBX_(ROLE|SVC)_[A-Z0-9_]+ "sbx\.[a-z.-]+\/[0-9]+"$/), "\(id)")
        }
        let values = ids.compactMap { $0.split(separator: " ").last }
        #expect(Set(values).count == values.count, "no id stands for two things")
    }
}
