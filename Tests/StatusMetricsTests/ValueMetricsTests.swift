// SPDX-License-Identifier: Apache-2.0

import StatusMetrics
import StatusModel
import Testing

@Suite struct ValueMetricsTests {
    /// The samples of the values of one server, without their labels.
    private func samples(_ values: [MeasuredValue]) throws -> [String] {
        try lines([values]).filter { $0.hasPrefix("statusd_value") }.map { line in
            "\(line.prefix { $0 != "{" })\(line.drop { $0 != "}" }.dropFirst())"
        }
    }

    /// The text of servers with values.
    private func lines(_ values: [[MeasuredValue]], _ format: MetricsFormat = .prometheus) throws -> [Substring] {
        let states = try values.enumerated().map { number, values in
            var state = ServerState(
                name: try #require(ServerName("s\(number)")), source: "exec", phase: .loaded)
            let time = Timestamp(milliseconds: 0)
            state.status = Status(
                text: try #require(StatusText(fitting: "well")), level: .ok, changedAt: time, updatedAt: time)
            state.values = values
            return state
        }
        return MetricsReport(servers: states, notices: 0, daemon: nil).text(format).split(separator: "\n")
    }

    @Test(
        "the unit is the last word of the name, and the value is in base units",
        arguments: [
            (MeasuredValue("used", 57, "%"), "statusd_value_used_ratio 0.57"),
            (MeasuredValue("free", 75e9, "B"), "statusd_value_free_bytes 75000000000"),
            (MeasuredValue("time", 0.0125, "s"), "statusd_value_time_seconds 0.0125"),
            (MeasuredValue("rta", 12.5, "ms"), "statusd_value_rta_seconds 0.0125"),
            (MeasuredValue("rta", 12.5, "us"), "statusd_value_rta_seconds 1.25e-05"),
            (MeasuredValue("free", 28, "GB"), "statusd_value_free_bytes 28000000000"),
            (MeasuredValue("free", 1.5, "KiB"), "statusd_value_free_bytes 1536"),
            (MeasuredValue("requests", 7, "c"), "statusd_value_requests_total 7"),
            (MeasuredValue("load", 0.5), "statusd_value_load 0.5"),
            (MeasuredValue("fan", 900, "RPM"), "statusd_value_fan_rpm 900"),
            (MeasuredValue("lowest", -5, "s"), "statusd_value_lowest_seconds -5"),
        ])
    func units(_ value: MeasuredValue, _ sample: String) throws { #expect(try samples([value]) == [sample]) }

    @Test(
        "a name becomes lower-case words; a unit that it repeats is left out",
        arguments: [
            (MeasuredValue("Größe (MB)/x", 1), "statusd_value_gr_e_xmb_x 1"),
            (MeasuredValue("/", 1, "B"), "statusd_value_root_bytes 1"),
            (MeasuredValue("/var/lib", 1, "B"), "statusd_value_var_lib_bytes 1"),
            (MeasuredValue("free_bytes", 1, "B"), "statusd_value_free_bytes 1"),
            (MeasuredValue("bytes", 1, "B"), "statusd_value_bytes 1"),
            (MeasuredValue("requests_total", 1, "c"), "statusd_value_requests_total 1"),
            (MeasuredValue("total", 1, "c"), "statusd_value_total 1"),
            (MeasuredValue("", 1, "%"), "statusd_value_ratio 1"),
            (MeasuredValue("€", 1), "statusd_value_unnamed 1"),
            (MeasuredValue("5min", 1), "statusd_value_5min 1"),
        ])
    func names(_ value: MeasuredValue, _ sample: String) throws {
        var value = value
        if value.unit == "%" { value.value = 100 }
        #expect(try samples([value]) == [sample])
    }

    @Test(
        "a word that would be another unit, a type or the suffix of another type gets an x",
        arguments: [
            ("uptime_days", "uptime_xdays"), ("ms", "xms"), ("kilobytes", "xkilobytes"), ("total", "xtotal"),
            ("count", "xcount"), ("total_count", "total_xcount"), ("gauge", "xgauge"), ("seconds", "seconds"),
            ("info", "xinfo"), ("process_sum", "process_xsum"), ("s/m/h", "xs_xm_xh"),
        ])
    func words(_ name: String, _ wanted: String) throws {
        #expect(try samples([MeasuredValue(name, 1)]) == ["statusd_value_\(wanted) 1"])
    }

    @Test("names of one server that become the same have numbers, so that no two samples have the same labels")
    func collisions() throws {
        let values = ["a c", "a-c", "a/c", "a c 2"].map { MeasuredValue($0, 1, "%") }
        let found = try samples(values)
        #expect(
            found == [
                "statusd_value_a_c_2_2_ratio 0.01", "statusd_value_a_c_2_ratio 0.01", "statusd_value_a_c_3_ratio 0.01",
                "statusd_value_a_c_ratio 0.01",
            ])
    }

    @Test("a number that grows and one that does not have different families, also of different servers")
    func types() throws {
        let found = try lines([[MeasuredValue("x", 1, "c")], [MeasuredValue("x", 2)]], .openMetrics)
        #expect(
            found.filter { $0.hasPrefix("# TYPE statusd_value") } == [
                "# TYPE statusd_value_x counter", "# TYPE statusd_value_x_2 gauge",
            ])
        #expect(
            found.filter { $0.hasPrefix("statusd_value") } == [
                #"statusd_value_x_total{server="s0"} 1"#, #"statusd_value_x_2{server="s1"} 2"#,
            ])
    }

    @Test("values of several servers with one name are one family")
    func families() throws {
        let found = try lines([[MeasuredValue("used", 1, "%")], [MeasuredValue("used", 2, "%")]])
        #expect(found.filter { $0.split(separator: " ").dropFirst(2).first == "statusd_value_used_ratio" }.count == 2)
        #expect(found.filter { $0.hasPrefix("statusd_value_used_ratio{") }.count == 2)
    }

    @Test("numbers and lengths of names have limits, and a number that is none is left out")
    func limits() throws {
        let many = (0..<100).map { MeasuredValue("v\($0)", 1) }
        #expect(try samples(many).count == MeasuredValue.maximumCount)
        let long = try samples([
            MeasuredValue(String(repeating: "y", count: 4096), 1, String(repeating: "z", count: 4096))
        ])
        #expect(long.first.map { $0.utf8.count } == "statusd_value__ 1".utf8.count + 128)
        let odd = [Double.nan, .infinity, -.infinity].map { MeasuredValue("x", $0) } + [MeasuredValue("n", -1, "c")]
        #expect(try samples(odd) == [])
    }
}
