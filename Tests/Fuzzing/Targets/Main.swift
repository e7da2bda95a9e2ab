// SPDX-License-Identifier: Apache-2.0

import FuzzingDriver

/// A parser that is fuzzed.
struct FuzzTarget: Sendable {
    /// Its name, also that of its folder in `Tests/Fuzzing/corpus`.
    let name: String
    /// Checks the parser's properties for one input.
    let check: @Sendable ([UInt8]) -> Void

    /// All targets; `Tests/Fuzzing/run` runs them in this order.
    static let all = [
        FuzzTarget(name: "varlink", check: MessageFuzzing.check),
        FuzzTarget(name: "description", check: DescriptionFuzzing.check),
        FuzzTarget(name: "notify", check: NotifyFuzzing.check),
        FuzzTarget(name: "plugin", check: PluginFuzzing.check),
        FuzzTarget(name: "dns", check: DNSFuzzing.check),
        FuzzTarget(name: "configuration", check: ConfigurationFuzzing.check),
        FuzzTarget(name: "response", check: ResponseFuzzing.check),
        FuzzTarget(name: "rows", check: RowFuzzing.check),
        FuzzTarget(name: "web", check: WebFuzzing.check),
        FuzzTarget(name: "broker", check: BrokerFuzzing.check),
    ]
}

/// The position of a target, for the driver (`driver.h`).
@_cdecl("fuzzing_find") func find(_ name: UnsafePointer<CChar>) -> CInt {
    let name = String(cString: name)
    if let index = FuzzTarget.all.firstIndex(where: { $0.name == name }) { return CInt(index) }
    for target in FuzzTarget.all { print(target.name) }
    return -1
}

/// Checks one input, for the driver.
@_cdecl("fuzzing_check") func check(_ target: CInt, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
    FuzzTarget.all[Int(target)].check(Array(UnsafeBufferPointer(start: bytes, count: count)))
}

/// Ends the process if a property does not hold, so that libFuzzer keeps the input.
func expect(_ holds: Bool, _ property: @autoclosure () -> String, line: UInt = #line, file: StaticString = #fileID) {
    if !holds { fatalError("broken property: \(property())", file: file, line: line) }
}
