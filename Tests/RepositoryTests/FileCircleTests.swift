import Testing

/// No circle of more than two files in a room, and none of its folders.
///
/// Nobody should have to read twenty files to understand one, and a folder is a layer: what it uses lies below it.
///
/// A file uses another one if it names a type that the other declares. `Type+topic.swift` counts as
/// part of the type's own file.
@Suite struct FileCircleTests {
    static let rooms: [String] = Set(
        Repository.files(under: "Sources", endings: [".swift"]).map {
            String($0.split(separator: "/")[1])
        }
    ).sorted()

    @Test(arguments: rooms)
    func `no more than two files of a room need each other`(room: String) throws {
        let graph = try Self.graph(room)
        for circle in Self.circles(graph) where circle.count > 2 {
            let edges = circle.sorted().map { file in
                let uses = (graph[file] ?? []).filter { circle.contains($0) }.sorted()
                return "\(Self.name(file)) uses \(uses.map(Self.name).joined(separator: ", "))"
            }
            Issue.record("\(room): a circle of \(circle.count)\n\(edges.joined(separator: "\n"))")
        }
    }

    @Test(arguments: rooms)
    func `no folders of a room need each other`(room: String) throws {
        let graph = try Self.folders(room)
        for circle in Self.circles(graph) where circle.count > 1 {
            let edges = circle.sorted().map { folder in
                let uses = (graph[folder] ?? []).intersection(circle).sorted()
                return "\(folder) uses \(uses.joined(separator: ", "))"
            }
            Issue.record("\(room): a circle of folders\n\(edges.joined(separator: "\n"))")
        }
    }

    /// The folders of a room, each with those that it uses. Files beside the folders count as one, "(root)".
    private static func folders(_ room: String) throws -> [String: Set<String>] {
        func folder(_ path: String) -> String {
            let parts = path.split(separator: "/")
            return parts.count > 3 ? String(parts[2]) : "(root)"
        }
        var folders: [String: Set<String>] = [:]
        for (file, uses) in try graph(room, isByFile: true) {
            folders[folder(file), default: []].formUnion(
                uses.map(folder).filter { $0 != folder(file) })
        }
        return folders
    }

    private static func name(_ path: String) -> String {
        String(path.split(separator: "/").last?.dropLast(".swift".count) ?? "")
    }

    /// The files of a room, each with the files that it uses; by file, `Type+topic.swift` stands for itself.
    private static func graph(_ room: String, isByFile: Bool = false) throws -> [String: Set<
        String
    >] {
        var words: [String: [String]] = [:]
        var owner: [String: String] = [:]
        let files = Repository.files(under: "Sources/\(room)", endings: [".swift"])
        for file in files {
            let code = Self.code(try Repository.text(file))
            words[file] = code.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
            for type in declared(code) where owner[type] == nil { owner[type] = file }
        }
        func place(_ file: String) -> String {
            let type = name(file).split(separator: "+").first.map(String.init) ?? ""
            return name(file).contains("+") && !isByFile ? owner[type] ?? file : file
        }
        var graph: [String: Set<String>] = [:]
        for file in files {
            let uses = Set(words[file] ?? []).compactMap { owner[$0].map(place) }
            graph[place(file), default: []].formUnion(uses.filter { $0 != place(file) })
        }
        return graph
    }

    /// Types that a file declares for others: not indented, and not private.
    private static func declared(_ code: String) -> [String] {
        let kinds: Set = ["class", "struct", "enum", "protocol", "actor", "typealias"]
        let marks: Set = ["public", "package", "internal", "final", "indirect", "open"]
        return code.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").drop { marks.contains(String($0)) }
            guard line.first?.isLetter == true, let first = words.first,
                kinds.contains(String(first)), let name = words.dropFirst().first
            else { return nil }
            return String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
        }
    }

    /// The code without comments and the content of strings.
    private static func code(_ text: String) -> String {
        var out: [String] = []
        var isText = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let isFence = line.contains("\"\"\"")
            if isFence || isText {
                if isFence, line.count(of: "\"\"\"") % 2 == 1 { isText.toggle() }
                continue
            }
            let plain = line.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false)
            // Every second piece is inside quotes.
            let pieces = (plain.first ?? "").replacing("\\\"", with: "")
                .split(separator: "\"", omittingEmptySubsequences: false)
            out.append(
                pieces.enumerated().map { $0.offset % 2 == 0 ? String($0.element) : " " }.joined())
        }
        return out.joined(separator: "\n")
    }

    /// Sets of files in which each file reaches all others.
    private static func circles(_ graph: [String: Set<String>]) -> [Set<String>] {
        var reach: [String: Set<String>] = [:]
        for start in graph.keys {
            var found: Set<String> = []
            var open = Array(graph[start] ?? [])
            while let next = open.popLast() {
                if found.insert(next).inserted { open += graph[next] ?? [] }
            }
            reach[start] = found
        }
        var circles: Set<Set<String>> = []
        for (file, found) in reach where found.contains(file) {
            circles.insert(found.filter { reach[$0]?.contains(file) == true })
        }
        return Array(circles)
    }
}

extension Substring {
    fileprivate func count(of part: String) -> Int { ranges(of: part).count }
}
