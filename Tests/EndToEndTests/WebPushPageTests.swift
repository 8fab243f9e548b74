import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

/// Examples/webpush in a real browser's engine: what the service worker makes of the plugin's messages. That a push
/// arrives there and is shown depends on a push service and on the system, which headless browsers do not have.
@Suite struct WebPushPageTests {
    /// Runs the service worker with a browser's interfaces that note what they are asked.
    private static let stage = """
        (async (script, messages) => {
          const listeners = {}, notes = [], shown = [], opened = [];
          const registration = {
            showNotification: async (title, options) => { shown.push({ title, ...options }); },
            getNotifications: async ({ tag }) => shown.filter((one) => one.tag === tag)
              .map((one) => ({ close: () => shown.splice(shown.indexOf(one), 1) })),
          };
          const self = { registration, navigator: { setAppBadge: async (count) => { notes.push("badge " + count); } },
            clients: { openWindow: async (link) => { opened.push(link); } },
            addEventListener: (name, listener) => { listeners[name] = listener; } };
          new Function("self", script)(self);
          for (const text of messages) {
            const data = { json: () => JSON.parse(text), text: () => text };
            let done;
            listeners.push({ data, waitUntil: (promise) => { done = promise; } });
            await done;
          }
          for (const one of [...shown]) {
            listeners.notificationclick({ notification: { data: one.data, close: () => undefined }, waitUntil: () => undefined });
          }
          return { shown, notes, opened };
        })
        """

    @Test func `the service worker shows a message, takes it back, and survives nonsense`()
        async throws
    {
        let file = PluginRig.root.appending(path: "Examples/webpush/service-worker.js")
        let script = JSONValue.string(try String(contentsOf: file, encoding: .utf8)).text
        let messages = JSONValue.array(
            [
                #"{"id":"1","title":"Order 5","body":"Paid 📦","tag":"order-5","link":"https://a/","badge":2}"#,
                #"{"id":"2","title":"Offer","body":"Today","link":"javascript:alert(1)"}"#,
                "no JSON",
                #"{"id":"3","withdraw":"order-5"}"#,
                #"{"id":"4","title":"Order 6","tag":"order-6","link":"https://shop.example.org/6"}"#,
            ].map(JSONValue.string)
        ).text
        let browser = try await Browser.start()
        let made = try await browser.run("\(Self.stage)(\(script), \(messages))")
        await browser.end()
        let titles = made["shown"]?.items?.compactMap { $0["title"]?.string }
        #expect(titles == ["Offer", "no JSON", "Order 6"])
        #expect(made["shown"]?[0]?["body"]?.string == "Today")
        #expect(made["notes"]?.text == #"["badge 2"]"#)
        // A script is no link.
        #expect(made["opened"]?.text == #"["https://shop.example.org/6"]"#)
    }
}
