import SignalboxPluginKit

/// Bulk unregister: `POST /api/v2/push_notification_devices/destroy_many`.
enum Unregister {
    /// Zendesk documents no maximum; its other bulk calls accept 100.
    static let chunkMax = 100

    /// One call for these changes; identifiers are sent back exactly as received.
    static func request(_ changes: [ChangeBatch.Change], authorization: String) -> RequestDraft {
        var body = JSONWriter()
        body.object { out in
            out.key("push_notification_devices")
            out.array { out in
                for change in changes { out.string(change.sourceToken) }
            }
        }
        var draft = RequestDraft()
        draft.begin("POST", path: "/api/v2/push_notification_devices/destroy_many")
        draft.header("authorization", authorization)
        draft.header("content-type", "application/json")
        draft.appendBody(body.bytes.span)
        return draft
    }
}
