// SPDX-License-Identifier: Apache-2.0

public enum SourceKinds {
    /// All kinds, in the order in which messages name them.
    public static let all: [any SourceSettings.Type] = [
        PushSettings.self,
        NotifySettings.self,
        UnitSettings.self,
        ExecSettings.self,
        TCPSettings.self,
        FileSettings.self,
        HTTPSettings.self,
    ]

    public static let keys = all.map { $0.key }

    public static func kind(_ key: String) -> (any SourceSettings.Type)? { all.first { $0.key == key } }
}
