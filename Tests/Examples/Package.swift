// swift-tools-version:6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Another package declares the dependency in the same way, but with a URL instead of the path.
let package = Package(
    name: "Examples",
    dependencies: [
        .package(name: "statusd", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .executableTarget(
            name: "SelectedServer", dependencies: [.product(name: "NotificationStreams", package: "statusd")]),
        .executableTarget(
            name: "UnitState",
            dependencies: [.product(name: "SystemdClient", package: "statusd")]),
        .executableTarget(
            name: "LastWords",
            dependencies: [
                .product(name: "SystemdClient", package: "statusd"), .product(name: "Logging", package: "swift-log"),
            ]),
        .target(name: "NIOCore"),
        .executableTarget(
            name: "Tickets", dependencies: ["NIOCore", .product(name: "Varlink", package: "statusd")],
            swiftSettings: [
                .defaultIsolation(MainActor.self), .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ],
            plugins: [.plugin(name: "VarlinkGeneratorPlugin", package: "statusd")]),
        .executableTarget(
            name: "Ping",
            dependencies: [.product(name: "Varlink", package: "statusd")],
            plugins: [.plugin(name: "VarlinkGeneratorPlugin", package: "statusd")]),
    ]
)
