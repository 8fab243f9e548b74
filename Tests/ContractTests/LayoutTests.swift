import Testing

/// Compares layouts with those of releases; the comparison must find what breaks plugins.
@Suite struct LayoutTests {
    @Test(arguments: Releases.versions)
    func `nothing of a release has changed`(version: String) async throws {
        let breaks = try await Layout.of(.current).breaks(since: Releases.layout(version))
        #expect(
            breaks.isEmpty,
            "plugins made for contract \(version) break:\n\(breaks.joined(separator: "\n"))")
    }

    @Test(arguments: Mutation.all)
    func `a change is allowed or caught`(mutation: Mutation) async throws {
        let breaks = try await Layout.of(mutation.apply()).breaks(since: Layout.of(.current))
        if mutation.isLegal {
            #expect(breaks == [])
        } else {
            #expect(breaks.contains { $0.contains(mutation.sign) }, "\(breaks)")
        }
    }

    @Test func `a next minor breaks nothing, and going back breaks much`() async throws {
        let now = try await Layout.of(.current)
        let next = try await Layout.of(Headers.next.value)
        #expect(next.breaks(since: now) == [])
        #expect(now.growing.count >= 40, "those without struct_size are few")
        let back = now.breaks(since: next)
        #expect(back.contains { $0.hasPrefix("gone or changed: constant SBX_ABI_MINOR") })
        #expect(back.count > 3 * now.growing.count)
    }

    @Test func `the layout tells what it should`() async throws {
        let layout = try await Layout.of(.current)
        for line in [
            "struct sbx_str 16 align 8", "field sbx_error 12 char[244] message",
            "field sbx_request 8 struct sbx_str method", "type int32_t sbx_status",
            "constant SBX_E_STOPPING ((sbx_status)-12)", "id SBX_SVC_LOG \"sbx.log/1\"",
            "function sbx_timer void (*cancel)(const struct sbx_host *host, uint64_t timer)",
        ] {
            #expect(layout.lines.contains(line), "\(line)")
        }
    }
}
