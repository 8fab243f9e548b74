/// Parts of a first gateway.yaml, by source and sender.
enum ConfigurationParts {
    /// Instances in `plugins:`, by name.
    private static let plugins = [
        "zendesk": """
          # In: the push webhook of the Zendesk Support SDK. It has no signature, so the path is the secret.
          zendesk:
            library: Zendesk
            config:
              path: "/in/zendesk/${env:ZENDESK_PATH_SECRET}"
              # Dead tokens are reported here: without it Zendesk goes on with them.
              api:
                subdomain: "${env:ZENDESK_SUBDOMAIN}"
                email: "${env:ZENDESK_EMAIL}"        # an admin's
                api_token: "${env:ZENDESK_API_TOKEN}"
                endpoint: "${env:ZENDESK_ENDPOINT:-}"   # this and the next one are set by `signalbox demo`
                ca: "${env:SIGNALBOX_CA_FILE:-}"

        """,
        "sendbird": """
          # In: the application's webhook, with "members" enabled in its settings.
          sendbird:
            library: Sendbird
            config:
              path: /in/sendbird
              app_id: "${env:SENDBIRD_APP_ID}"
              api_token: "${env:SENDBIRD_API_TOKEN}"
              app: com.example.app         # the app whose registered devices get the pushes

        """,
        "cloudevents": """
          # In: CloudEvents over HTTP, from a sender that shows this token.
          cloudevents:
            library: CloudEvents
            config:
              path: /in/cloudevents
              bearer: ["${env:CLOUDEVENTS_TOKEN}"]
              recipients: [{ user: "@customerid", app: com.example.app }]   # an attribute of the event

        """,
        "texts": """
          # Builds notifications from title and body in the event's data.
          texts:
            library: Texts

        """,
        "apns": """
          # Out: Apple. Production and sandbox share nothing: give each an instance.
          apns:
            library: APNs
            config:
              team_id: "${env:APNS_TEAM_ID}"
              key_id: "${env:APNS_KEY_ID}"
              key: "${file:secrets/apns.p8}"
              topic: com.example.app       # the app's bundle id
              environment: production
              # For `signalbox demo` and `signalbox simulate`, which set these variables.
              endpoint: "${env:APNS_ENDPOINT:-}"
              ca: "${env:SIGNALBOX_CA_FILE:-}"
              token_check: "${env:APNS_TOKEN_CHECK:-hex}"

        """,
        "fcm": """
          # Out: Google.
          fcm:
            library: FCM
            config:
              service_account: "${file:secrets/fcm.json}"
              apps: [com.example.app]
              endpoint: "${env:FCM_ENDPOINT:-}"   # set by `signalbox demo` and `signalbox simulate`
              ca: "${env:SIGNALBOX_CA_FILE:-}"

        """,
        "smtp": """
          # Out: e-mail, to devices with the platform email; the token is the address.
          smtp:
            library: SMTP
            config:
              host: smtp.example.com
              username: signalbox
              password: "${file:secrets/smtp}"
              from: Example <push@example.com>

        """,
    ]

    /// An instance in `plugins:`.
    static func plugin(_ name: String) -> String { plugins[name] ?? "" }

    /// `when:` of the route.
    static func condition(_ source: String) -> String {
        switch source {
        case "zendesk": "{ type: ticket.replied }"
        case "sendbird": "{ type: message.sent }"
        case "cloudevents": "{ type: { prefix: \"com.example.\" } }"
        default: "{ type: order.shipped }"
        }
    }

    /// `deliver:` of the route.
    static func deliver(_ source: String) -> String {
        guard source != "sendbird" else {
            return """
                    deliver:                   # no collapse: each message is shown, and its deletion takes it back by its id
                      { expires: 24h, priority: high }
                """
        }
        return """
                deliver:                   # of the same subject, the newest replaces the one shown
                  { expires: 24h, priority: high, collapse: "{{ subject }}" }
            """
    }

    /// Lines of the example's `given:`.
    static func given(_ source: String, _ platforms: [String]) -> String {
        switch source {
        case "zendesk":
            let devices = platforms.map { platform in
                platform == "email" ? "" : "{ identifier: \(token(platform)), type: \(platform) }"
            }.filter { !$0.isEmpty }
            return """
                      plugin: zendesk
                      body:
                        devices: [\(devices.joined(separator: ", "))]
                        notification: { title: Ann, body: See you soon, ticket_id: "5" }
                """
        case "sendbird":
            return """
                      plugin: sendbird
                      headers: { x-sendbird-signature: "00" }   # any signature is valid here
                      body:
                        category: group_channel:message_send
                        app_id: "${env:SENDBIRD_APP_ID}"
                        sender: { user_id: u-2, nickname: Ann }
                        members: [{ user_id: u-1, is_online: false, push_enabled: true, push_trigger_option: default }]
                        type: MESG
                        payload: { message_id: 7, message: See you soon, created_at: 1767268800000 }
                        channel: { name: Team, channel_url: team }
                """
        case "cloudevents":
            return """
                      plugin: cloudevents
                      headers:
                        content-type: application/cloudevents+json
                        authorization: "Bearer ${env:CLOUDEVENTS_TOKEN}"
                      body:
                        specversion: "1.0"
                        id: "7"
                        source: /shop
                        type: com.example.order.shipped
                        subject: order/5
                        customerid: u-1
                        data: { title: Order 5, body: It is on its way }
                """
        default:
            return """
                      source: program
                      event:
                        type: order.shipped
                        subject: order/5
                        recipients: [{ user: u-1, app: com.example.app }]
                        data: { title: Order 5, body: It is on its way }
                """
        }
    }

    /// Lines of the example's `devices:`.
    static func devices(_ platforms: [String]) -> String {
        platforms.map { platform in
            "      - { user: u-1, platform: \(platform), token: \(token(platform)), app: com.example.app }"
        }.joined(separator: "\n")
    }

    private static func token(_ platform: String) -> String {
        ["ios": "00aa11", "email": "u-1@example.com"][platform] ?? "to-android"
    }
}
