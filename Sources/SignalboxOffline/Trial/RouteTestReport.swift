internal import SignalboxCore

extension RouteTestRun.Result {
    /// The result for people.
    package var text: String {
        var out = "\(isPassed ? "pass" : "FAIL")  \(name)"
        for file in written { out += "\n      wrote \(file)" }
        for failure in failures {
            out += "\n      \(failure.place)"
            for line in failure.lines { out += "\n        \(line)" }
        }
        return out
    }

    /// The result as JSON, in one line.
    package var jsonText: String {
        JSONValue.object([
            .init("name", .string(name)), .init("position", .string(position)),
            .init("passed", .bool(isPassed)),
            .init("took_ms", .number("\((tookMs * 10).rounded() / 10)")),
            .init("written", .array(written.map(JSONValue.string))),
            .init(
                "failures",
                .array(
                    failures.map { failure in
                        [
                            "place": .string(failure.place),
                            "lines": .array(failure.lines.map(JSONValue.string)),
                        ]
                    })),
        ]).text
    }
}

extension [RouteTestRun.Result] {
    /// The results in JUnit's XML format.
    package var junit: String {
        let failed = count { !$0.isPassed }
        var out = """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuite name="signalbox test" tests="\(count)" failures="\(failed)">

            """
        for result in self {
            let time = "\(result.tookMs.rounded() / 1_000)"
            out += "  <testcase name=\"\(Markup.escaped(result.name))\" time=\"\(time)\">\n"
            for failure in result.failures {
                let lines = failure.lines.joined(separator: "\n")
                out +=
                    "    <failure message=\"\(Markup.escaped(failure.place))\">"
                    + "\(Markup.escaped(lines))</failure>\n"
            }
            out += "  </testcase>\n"
        }
        return out + "</testsuite>\n"
    }
}
