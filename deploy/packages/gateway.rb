class Gateway < Formula
  desc "Gateway between AI agents, MCP servers and LLM providers"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@DOWNLOADS@/gateway-macos-arm64"
      sha256 "@SHA256 gateway-macos-arm64@"
    end
    on_intel do
      url "@DOWNLOADS@/gateway-macos-x64"
      sha256 "@SHA256 gateway-macos-x64@"
    end
  end

  on_linux do
    on_arm do
      url "@DOWNLOADS@/gateway-linux-arm64"
      sha256 "@SHA256 gateway-linux-arm64@"
    end
    on_intel do
      url "@DOWNLOADS@/gateway-linux-x64"
      sha256 "@SHA256 gateway-linux-x64@"
    end
  end

  def install
    bin.install Dir["gateway-*"].first => "gateway"
    bin.install_symlink "gateway" => "gwctl"
    generate_completions_from_executable(bin/"gateway", "completion")
  end

  service do
    run [opt_bin/"gateway", "-f", etc/"gateway/gateway.yaml"]
    keep_alive true
    log_path var/"log/gateway.log"
    error_log_path var/"log/gateway.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gateway version")
  end
end
