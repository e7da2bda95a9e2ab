// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("Memory") struct MemoryTests {
    private static let text = """
        MemTotal:       16000000 kB
        MemFree:          100000 kB
        MemAvailable:    5000000 kB
        SwapTotal:       1000000 kB
        SwapFree:         750000 kB
        HugePages_Total:       0

        """

    private func judge(_ text: String = Self.text, _ settings: MemorySettings = MemorySettings()) throws -> CheckResult
    {
        settings.judge(
            try #require(MemoryUse(text)), pressure: KernelPressure("some avg10=9 avg60=0.31 avg300=1 total=1"))
    }

    @Test("settings are read; false turns the source off")
    func settings() throws {
        #expect(try MemorySettings.read("memory: true").settings == MemorySettings())
        #expect(try MemorySettings.read("memory: {}").settings == MemorySettings())
        #expect(try MemorySettings.read("memory: false").settings == nil)
        var settings = MemorySettings()
        (settings.used, settings.swap) = (Thresholds(warning: 50, critical: 60), 40)
        #expect(
            try MemorySettings.read("memory: { warning: 50%, critical: 60%, swap: 40% }").settings == settings)
        for mistake in ["90%", "{ warning: 0.8 }", "{ warning: 96% }", "{ swap: 101% }"] {
            #expect(throws: Problem.self, "\(mistake)") { try MemorySettings.read("memory: \(mistake)") }
        }
    }

    @Test("what programs can still get counts, and not what is free")
    func available() throws {
        let result = try judge()
        #expect(result.level == .ok)
        #expect(result.text == "5.1 of 16 GB available; pressure 0.3%")
        #expect(result.values.map(\.name) == ["used", "available", "total", "pressure"])
        #expect(result.values[0] == MeasuredValue("used", 68.75, "%", warning: 85, critical: 95))
        #expect(result.values[1].value == 5_120_000_000)
        let low = Self.text.replacing("MemAvailable:    5000000", with: "MemAvailable:    500000")
        #expect(try judge(low).text == "512 MB of 16 GB available; pressure 0.3%")
        #expect(try judge(low).level == .critical)
    }

    @Test("swap space counts only with a limit, and only if there is some")
    func swap() throws {
        var settings = MemorySettings()
        settings.swap = 25
        #expect(try judge(Self.text, settings).level == .warning)
        #expect(try judge(Self.text, settings).text == "5.1 of 16 GB available; 25% of swap used; pressure 0.3%")
        settings.swap = 26
        #expect(try judge(Self.text, settings).level == .ok)
        let none = "MemTotal: 16000000 kB\nMemAvailable: 5000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
        #expect(try judge(none, settings) == judge(none))
    }

    @Test("an old kernel that lacks a number is not taken for one with memory")
    func missing() {
        #expect(MemoryUse("MemTotal: 16 kB\nMemFree: 1 kB\n") == nil)
        #expect(MemoryUse("") == nil)
    }

    @Test("a kernel that does not measure pressure leaves it out")
    func noPressure() throws {
        let memory = try #require(MemoryUse(Self.text))
        #expect(MemorySettings().judge(memory, pressure: nil).text == "5.1 of 16 GB available")
    }
}
