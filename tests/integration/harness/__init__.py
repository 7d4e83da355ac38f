"""What the integration tests stand on: processes, engines, configurations, the gateway, its ledger."""
