/// The smallest configuration with a route that has conditions: orders of a shop, pushed over APNs.
public enum ShopConfig {
    /// `gateway.yaml`; `TEAM`, `KEY` and `k.p8` are left to the test.
    public static let yaml = """
        version: 1
        gateway: { listen: false, admin: false, sources: [shop] }
        plugins:
          texts: { library: Texts }
          apns:
            library: APNs
            config: { team_id: "${env:TEAM}", key_id: "${env:KEY}", key: "${file:k.p8}", topic: com.example.shop }
        routes:
          - name: shipped
            from: shop
            when: { type: order.shipped, order.total: { not: "0" } }
            build: { with: texts, set: { badge: count } }
            send: { ios: apns }
        """
}
