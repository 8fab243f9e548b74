import SignalboxObservability
import Testing

@Suite struct MetricsRegistryTests {
    @Test func `series stand under the type of their name, in order`() {
        let registry = MetricsRegistry()
        registry.counter("b_total", [("sender", "fcm")]).add(2)
        registry.gauge("a").set(-1)
        registry.counter("b_total", [("sender", "apns")]).add()
        #expect(
            registry.text == """
                # TYPE a gauge
                a -1
                # TYPE b_total counter
                b_total{sender="apns"} 1
                b_total{sender="fcm"} 2

                """)
    }

    @Test func `the same name and labels are the same series`() {
        let registry = MetricsRegistry()
        let first = registry.counter("a_total", [("x", "1"), ("y", "2")])
        #expect(first === registry.counter("a_total", [("x", "1"), ("y", "2")]))
        #expect(first !== registry.counter("a_total", [("x", "2"), ("y", "1")]))
    }

    @Test func `a label cannot break out of its quotes or its line`() {
        let registry = MetricsRegistry()
        registry.counter("a_total", [("x", "\"} 7\nb_total{y=\"\\")]).add()
        #expect(
            registry.text == "# TYPE a_total counter\n"
                + #"a_total{x="\"} 7\nb_total{y=\"\\"} 1"# + "\n")
    }

    @Test func `long labels are cut, and what is cut alike is counted together`() {
        let registry = MetricsRegistry()
        let long = String(repeating: "ä", count: 128)
        registry.counter("a_total", [("x", long + "1")]).add()
        registry.counter("a_total", [("x", long + "2")]).add()
        #expect(registry.text == "# TYPE a_total counter\na_total{x=\"\(long)\"} 2\n")
    }

    @Test func `beyond the bound a series counts and is not shown`() {
        let registry = MetricsRegistry()
        for number in 0..<MetricsRegistry.seriesMax {
            registry.counter("a_total", [("x", "\(number)")]).add()
        }
        let over = registry.counter("b_total")
        over.add(3)
        #expect(over.current == 3)
        #expect(!registry.text.contains("b_total"))
        #expect(registry.counter("a_total", [("x", "7")]).current == 1)
    }
}
