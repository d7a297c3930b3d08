// A key-value store for ranks in processes of their own: the process that starts them serves it over socket pairs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tenon::testing_support {

// Serves while it lives.
class StoreServer {
 public:
  StoreServer() = default;
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  // The end of a new connection that a child inherits; the caller closes it once the child runs.
  int Connect();

 private:
  void Serve(int socket);
  std::string Answer(const std::string& request);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
};

// One rank's end. Any thread.
class StoreClient {
 public:
  explicit StoreClient(int socket) : socket_(socket) {}
  // Codes of the interface.
  std::int32_t Put(const std::string& key, const std::string& value);
  std::int32_t Get(const std::string& key, std::uint64_t timeout_ns, std::string* value);
  std::int32_t Delete(const std::string& key);

 private:
  std::int32_t Ask(const std::string& request, std::string* value);
  std::mutex mutex_;
  int socket_;
};

}  // namespace tenon::testing_support
