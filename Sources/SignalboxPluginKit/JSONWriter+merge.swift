extension JSONWriter {
    /// Writes `base` with `patch` merged into it (RFC 7396): objects member by member, everything else
    /// replaced; a null in the patch removes the member.
    public mutating func merged(_ base: JSON?, with patch: JSON) {
        guard patch.kind == .object else {
            raw(patch.text)
            return
        }
        let own = base?.kind == .object ? base?.members ?? [] : []
        let changes = patch.members
        object { out in
            for member in own {
                guard let change = changes.first(where: { $0.key == member.key }) else {
                    out.key(member.key)
                    out.value(member.value)
                    continue
                }
                if change.value.kind == .null { continue }
                out.key(member.key)
                out.merged(member.value, with: change.value)
            }
            for change in changes where change.value.kind != .null {
                guard !own.contains(where: { $0.key == change.key }) else { continue }
                out.key(change.key)
                out.merged(nil, with: change.value)
            }
        }
    }
}
