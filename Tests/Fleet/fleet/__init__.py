# SPDX-License-Identifier: Apache-2.0
"""Many hosts on one broker: the engines, played hosts, real hosts, and what a hub must show of them."""
