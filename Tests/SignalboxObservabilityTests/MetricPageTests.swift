import Testing

@testable import SignalboxObservability

@Suite struct MetricPageTests {
    @Test func `series stand under the help and type of their name, in order`() {
        let counters = Counters("b_total", "Bs.", ["sender"])
        counters["fcm"].add(2)
        counters["apns"].add()
        let gauges = Gauges("a", "As: \\ and \n.")
        gauges.set(-1)
        #expect(
            MetricPage([counters, gauges]).text == #"""
                # HELP a As: \\ and \n.
                # TYPE a gauge
                a -1
                # HELP b_total Bs.
                # TYPE b_total counter
                b_total{sender="apns"} 1
                b_total{sender="fcm"} 2

                """#)
    }

    @Test func `a histogram counts each observation in its bucket and all above`() {
        let family = Histograms("a_seconds", "As.", ["x"])
        family["1"].observe(ms: 1)
        family["1"].observe(ns: 3_000_000, count: 2)
        family["1"].observe(ms: 86_400_000)
        let lines = MetricPage([family]).text.split(separator: "\n")
        #expect(lines.contains(#"a_seconds_bucket{x="1",le="0.001"} 1"#))
        #expect(lines.contains(#"a_seconds_bucket{x="1",le="0.0025"} 1"#))
        #expect(lines.contains(#"a_seconds_bucket{x="1",le="0.005"} 3"#))
        #expect(lines.contains(#"a_seconds_bucket{x="1",le="7200"} 3"#))
        #expect(lines.contains(#"a_seconds_bucket{x="1",le="+Inf"} 4"#))
        #expect(lines.contains(#"a_seconds_sum{x="1"} 86400.007"#))
        #expect(lines.contains(#"a_seconds_count{x="1"} 4"#))
        #expect(family["1"].count == 4)
    }

    @Test func `what has no labels is shown as 0 from the start, the rest when it was asked for`() {
        let text = MetricPage([
            Counters("a_total", "As."), Counters("b_total", "Bs.", ["x"]),
            Histograms("c_seconds", "Cs."), Gauges("d", "Ds."),
        ]).text
        #expect(text.contains("a_total 0\n") && text.contains("c_seconds_count 0\n"))
        #expect(!text.contains("b_total") && !text.contains("# TYPE d"))
    }

    @Test func `the same labels are the same series`() {
        let counters = Counters("a_total", "As.", ["x", "y"])
        #expect(counters["1", "2"] === counters["1", "2"])
        #expect(counters["1", "2"] !== counters["2", "1"])
    }

    @Test(arguments: [
        ("\"} 7\nb_total{y=\"\\", #"\"} 7\nb_total{y=\"\\"#),
        // One character, two bytes.
        ("a\r\nb_total 7", "a\r\\nb_total 7"), ("\n\u{301}", "\\n\u{301}"),
        ("\\\u{301}", "\\\\\u{301}"), ("\"\u{301}", "\\\"\u{301}"),
    ])
    func `a label cannot break out of its quotes or its line`(value: String, shown: String) {
        let counters = Counters("a_total", "As.", ["x"])
        counters[value].add()
        let line = Array("a_total{x=\"\(shown)\"} 1\n".utf8)
        #expect(Array(MetricPage([counters]).text.utf8.suffix(line.count)) == line)
    }

    @Test func `long labels are cut by bytes, and what is cut alike is counted together`() {
        let counters = Counters("a_total", "As.", ["x"])
        // One character of 201 bytes.
        let long = "e" + String(repeating: "\u{301}", count: 100)
        counters[long + "1"].add()
        counters[long + "2"].add()
        let cut = "e" + String(repeating: "\u{301}", count: 63)
        #expect(MetricPage([counters]).text.hasSuffix("a_total{x=\"\(cut)\"} 2\n"))
    }

    @Test func `beyond the limit what is new is counted together`() {
        let counters = Counters("a_total", "As.", ["x"])
        for number in 0..<10_000 { counters["\(number)"].add() }
        counters["new"].add(3)
        counters["newer"].add()
        #expect(counters["7"].current == 1)
        #expect(MetricPage([counters]).text.contains("a_total{x=\"other\"} 4\n"))
    }

    @Test func `gauges that are set together are as many as a metric may have`() {
        let gauges = Gauges("a", "As.", ["x"])
        gauges.setAll((0..<10_005).map { (["\($0)"], 1) })
        let text = MetricPage([gauges]).text
        #expect(text.contains("a{x=\"7\"} 1\n") && text.contains("a{x=\"other\"} 5\n"))
        #expect(text.split(separator: "\n").count == 10_003)
    }

    @Test func `a gauge that is set anew forgets what is gone`() {
        let gauges = Gauges("a", "As.", ["x", "y"])
        gauges.setAll([(["1", "2"], 1), (["2", "2"], 0.5)])
        gauges.setAll([(["2", "2"], 0.25)])
        #expect(MetricPage([gauges]).text.hasSuffix("gauge\na{x=\"2\",y=\"2\"} 0.25\n"))
    }
}

@Suite struct PluginMetricsTests {
    @Test func `a plugin's label can do no harm`() throws {
        let metrics = PluginMetrics()
        for labels in [
            [("instance", "a"), ("instance", "b")], [("le", "1")], [("__name__", "x")],
            [("a-b", "1")], [("", "1")], [("1a", "1")], [("a=\"\"} 1\n", "1")],
        ] { #expect(metrics.metric("signalbox_plugin_a", labels, isGauge: true) == nil) }
        let good = [("instance", "i"), ("x", "\r\n\"")]
        let metric = try #require(metrics.metric("signalbox_plugin_a", good, isGauge: true))
        metric.set(-3)
        #expect(metrics.metric("signalbox_plugin_a", good, isGauge: true) === metric)
        #expect(metrics.metric("signalbox_plugin_a", [("x", "1")], isGauge: false) == nil)
        let line = Array("signalbox_plugin_a{instance=\"i\",x=\"\r\\n\\\"\"} -3\n".utf8)
        let text = MetricPage(metrics.families).text
        #expect(Array(text.utf8.suffix(line.count)) == line)
        #expect(text.hasPrefix("# HELP signalbox_plugin_a "))
    }
}
