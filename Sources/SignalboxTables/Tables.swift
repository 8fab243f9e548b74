/// The tables that both engines have.
public enum Tables {
    /// The registry. `id`: the number of the registration, never given out twice. `kind`: its provider or platform.
    /// `online`: until when its app is in front of the user.
    public static let device = StoreTable(
        "device",
        [
            .text("app"), .text("user_id"), .text("token"), .text("platform"), .text("provider"),
            .text("source_token"), .text("locale"), .number("registered"), .number("online"),
            .text("attributes"), .number("id"), .text("kind"),
        ], key: ["app", "token", "platform", "user_id"], numbering: .beside("id"))

    /// Badge counters: a row per user with devices. It goes with the user's last device.
    public static let badge = StoreTable(
        "badge", [.text("app"), .text("user_id"), .number("number")], key: ["app", "user_id"])

    /// Values of plugins.
    public static let value = StoreTable(
        "value",
        [
            .text("instance"), .text("key"), .bytes("value"),
            .number("expires", isOptional: true),
        ], key: ["instance", "key"])

    /// Reports that were written with a change of the registry, and are not in the queue yet.
    public static let outbox = StoreTable(
        "outbox",
        [
            .number("id"), .text("instance"), .number("kind"), .number("at"), .text("reason"),
            .text("subject"), .number("event"), .number("deduped"), .text("app"),
            .bytes("device"),
        ], key: ["id"], numbering: .identity)

    /// Dead letters. `body`: see `Delivery.body`; empty if it is lost. `stale`: what of it a newer delivery, found by
    /// the two keys, has made obsolete.
    public static let dead = StoreTable(
        "dead",
        [
            .number("id"), .number("at"), .text("reason"), .text("sender"), .text("app"),
            .number("kind"), .text("route"), .number("rank"), .number("deadline"),
            .number("received"), .text("stable"), .text("attempts"), .bytes("body"),
            .number("shown_key", isOptional: true), .number("badge_key", isOptional: true),
            .number("accepted"), .number("stale"),
        ], key: ["id"])

    /// The outcomes of a commit, `count` of them from the number `first` on.
    public static let outcome = StoreTable(
        "outcome", [.number("first"), .number("count"), .number("at"), .bytes("records")],
        key: ["first"])

    /// Who gets outcomes, and the number of the next one.
    public static let receiver = StoreTable(
        "outcome_receiver", [.text("name"), .number("next")], key: ["name"])

    /// There while a copy into the database is not finished; then it is renamed.
    public static let copy = StoreTable(
        "copy", [.text("source"), .text("kind"), .text("after"), .number("damaged")],
        key: ["source"])
}
