/* SPDX-License-Identifier: Apache-2.0 */
/* Microlith for C++17: microlith.h with owners, exceptions and typed views. Header only; link libmicrolith.
 *
 *     microlith::Model model("model.lith");
 *     microlith::Session session(model);
 *     session.set_input(0, image);                          // std::vector<float>, std::array, a view, ...
 *     session.run();
 *     for (float score : session.output<float>(0)) { ... }  // in place, no copy
 *
 * The rules of microlith.h hold: a Model may be used by any number of threads, a Session by one at a time (cancel()
 * excepted). A Session keeps its Model open. What fails throws microlith::Error with the status and the sentence of the
 * C function; the object is then as it was. Sizes are in elements where a type is known, in bytes otherwise.
 */
#ifndef MICROLITH_HPP
#define MICROLITH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "microlith.h"

namespace microlith {

/* What every failure throws. */
class Error : public std::runtime_error {
  public:
    Error(lith_status status, const std::string &what) : std::runtime_error(what), status_(status) {}
    lith_status status() const noexcept {
        return status_;
    }

  private:
    lith_status status_;
};

namespace detail {

inline void check(lith_status status, const lith_message &message) {
    if (status != LITH_OK) {
        throw Error(status, message.text[0] ? message.text : lith_status_text(status));
    }
}

/* The number of an element type in microlith.h; no value for a type that no tensor has. */
template <typename T>
struct element;
template <>
struct element<float> : std::integral_constant<int32_t, 0> {};
template <>
struct element<int8_t> : std::integral_constant<int32_t, 2> {};
template <>
struct element<uint8_t> : std::integral_constant<int32_t, 3> {};
template <>
struct element<int16_t> : std::integral_constant<int32_t, 4> {};
template <>
struct element<int32_t> : std::integral_constant<int32_t, 5> {};
template <>
struct element<int64_t> : std::integral_constant<int32_t, 6> {};
template <>
struct element<bool> : std::integral_constant<int32_t, 7> {};
template <>
struct element<double> : std::integral_constant<int32_t, 8> {};
template <>
struct element<uint16_t> : std::integral_constant<int32_t, 9> {};
template <>
struct element<uint32_t> : std::integral_constant<int32_t, 10> {};
template <>
struct element<uint64_t> : std::integral_constant<int32_t, 11> {};

} // namespace detail

/* Elements that somebody else owns: what C++20 calls std::span. */
template <typename T>
class View {
  public:
    constexpr View() noexcept = default;
    constexpr View(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    constexpr T *data() const noexcept {
        return data_;
    }
    constexpr std::size_t size() const noexcept {
        return size_;
    }
    constexpr bool empty() const noexcept {
        return size_ == 0;
    }
    constexpr T *begin() const noexcept {
        return data_;
    }
    constexpr T *end() const noexcept {
        return data_ + size_;
    }
    constexpr T &operator[](std::size_t index) const noexcept {
        return data_[index];
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

using Shape = std::vector<int32_t>;

/* real = scale * (q - zero_point) */
struct Quantization {
    std::vector<float> scales; /* one, or one for each slice along `axis` */
    std::vector<int32_t> zero_points;
    int32_t axis = -1; /* -1: per tensor */
};

/* An input or output. */
struct TensorInfo {
    std::string name;
    int32_t dtype = 0;                /* as in microlith.h */
    Shape shape;                      /* -1: not known yet */
    std::vector<std::string> symbols; /* names of the sizes that are known at run time only, "" for the others */
    std::size_t bytes = 0;            /* 0 as long as a size is not known */
    std::optional<Quantization> quantization;
};

namespace detail {

inline TensorInfo tensor_info(const lith_tensor_info &info) {
    TensorInfo result;
    result.name = info.name;
    result.dtype = info.dtype;
    result.shape.assign(info.dims, info.dims + info.rank);
    result.symbols.assign(info.symbols, info.symbols + info.rank);
    result.bytes = info.size;
    if (info.quant_count > 0) {
        result.quantization = Quantization{{info.scales, info.scales + info.quant_count},
                                           {info.zero_points, info.zero_points + info.quant_count},
                                           info.quant_axis};
    }
    return result;
}

} // namespace detail

/* Packed weights that all models of one cache share, where they are the same (lith_weights_cache). Copies are the same
 * cache; models keep it as long as they need it. */
class WeightsCache {
  public:
    explicit WeightsCache(const lith_allocator *allocator = nullptr) {
        lith_message message{};
        lith_weights_cache *cache = nullptr;
        detail::check(lith_weights_cache_create(allocator, &cache, &message), message);
        cache_.reset(cache, lith_weights_cache_release);
    }
    lith_weights_info info() const {
        lith_weights_info result;
        lith_message none{};
        detail::check(lith_weights_cache_get_info(get(), &result), none);
        return result;
    }
    lith_weights_cache *get() const noexcept {
        return cache_.get();
    }

  private:
    std::shared_ptr<lith_weights_cache> cache_;
};

struct ModelOptions {
    std::string isa;                           /* such as "c,avx2": all that kernels may use; empty: everything */
    const lith_allocator *allocator = nullptr; /* nullptr: malloc and free */
    bool winograd = true;                      /* see lith_model_options.no_winograd */
    std::size_t packed_limit = 0;              /* see lith_model_options.packed_limit; 0: LITH_PACKED_LIMIT */
    std::vector<const lith_extension *> extensions = {}; /* ops from outside of the library; what they point to outlives
                                                            the model */
    std::optional<WeightsCache> weights_cache = {};      /* none: weights are shared with no other model */
};

/* An open .lith file. Copies share it. */
class Model {
  public:
    explicit Model(const std::string &path, const ModelOptions &options = {}) {
        open(options, [&](const lith_model_options *given, lith_model **model, lith_message *message) {
            return lith_model_open(path.c_str(), given, model, message);
        });
    }

    /* The bytes stay the caller's and live as long as the model does (lith_model_open_memory). */
    Model(const void *data, std::size_t size, const ModelOptions &options = {}) {
        open(options, [&](const lith_model_options *given, lith_model **model, lith_message *message) {
            return lith_model_open_memory(data, size, given, model, message);
        });
    }

    std::vector<TensorInfo> inputs() const {
        return tensors(lith_model_input_count(get()), lith_model_input_info);
    }
    std::vector<TensorInfo> outputs() const {
        return tensors(lith_model_output_count(get()), lith_model_output_info);
    }

    /* The position of a name. Throws when there is none. */
    int32_t input_index(const std::string &name) const {
        return named(lith_model_input_index(get(), name.c_str()), "input", name);
    }
    int32_t output_index(const std::string &name) const {
        return named(lith_model_output_index(get(), name.c_str()), "output", name);
    }

    lith_model_info info() const {
        lith_model_info result;
        lith_message none{};
        detail::check(lith_model_get_info(get(), &result), none);
        return result;
    }

    /* What the converter noted under a key. */
    std::optional<std::string> metadata(const std::string &key) const {
        const char *value = lith_model_metadata_find(get(), key.c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
    }

    const lith_model *get() const noexcept {
        return model_.get();
    }

  private:
    std::shared_ptr<lith_model> model_;

    template <typename Open>
    void open(const ModelOptions &options, Open call) {
        lith_message message{};
        lith_model_options given = LITH_MODEL_OPTIONS_INIT;
        given.allocator = options.allocator;
        given.no_winograd = options.winograd ? 0 : 1;
        given.weights_cache = options.weights_cache ? options.weights_cache->get() : nullptr;
        if (!options.isa.empty()) {
            detail::check(lith_isa_parse(options.isa.c_str(), &given.isa_mask, &message), message);
        }
        given.packed_limit = options.packed_limit;
        auto extensions = std::make_shared<std::vector<const lith_extension *>>(options.extensions);
        given.extensions = extensions->data();
        given.extension_count = static_cast<int32_t>(extensions->size());
        lith_model *model = nullptr;
        detail::check(call(&given, &model, &message), message);
        model_.reset(model, [extensions](lith_model *opened) { lith_model_close(opened); });
    }

    template <typename Ask>
    std::vector<TensorInfo> tensors(int32_t count, Ask ask) const {
        std::vector<TensorInfo> result;
        for (int32_t index = 0; index < count; index++) {
            lith_tensor_info info;
            lith_message none{};
            detail::check(ask(get(), index, &info), none);
            result.push_back(detail::tensor_info(info));
        }
        return result;
    }

    static int32_t named(int32_t index, const char *kind, const std::string &name) {
        if (index < 0) {
            throw Error(LITH_ERROR_ARGUMENT, std::string("there is no ") + kind + " '" + name + "'");
        }
        return index;
    }
};

struct SessionOptions {
    int32_t threads = 1;
    bool keep_inputs = false;                  /* a run may otherwise reuse the memory of inputs */
    const lith_allocator *allocator = nullptr; /* nullptr: that of the model */
    std::vector<int32_t> cores = {};           /* that threads stay on; see lith_session_options */
};

/* The memory in which a model runs. Can be moved, not copied. */
class Session {
  public:
    explicit Session(Model model, const SessionOptions &options = {}) : model_(std::move(model)) {
        lith_message message{};
        lith_session_options given = LITH_SESSION_OPTIONS_INIT;
        given.threads = options.threads;
        given.keep_inputs = options.keep_inputs ? 1 : 0;
        given.allocator = options.allocator;
        given.cores = options.cores.empty() ? nullptr : options.cores.data();
        given.core_count = static_cast<int32_t>(options.cores.size());
        lith_session *session = nullptr;
        detail::check(lith_session_create(model_.get(), &given, &session, &message), message);
        session_.reset(session);
    }

    const Model &model() const noexcept {
        return model_;
    }
    lith_session *get() const noexcept {
        return session_.get();
    }

    /* Shapes of all inputs, in their order. Unbinds buffers, forgets the values of inputs. */
    void resize(const std::vector<Shape> &shapes) {
        std::vector<lith_shape> given(shapes.size());
        for (std::size_t index = 0; index < shapes.size(); index++) {
            if (shapes[index].size() > LITH_MAX_RANK) {
                throw Error(LITH_ERROR_SHAPE, "a shape has more than 8 dimensions");
            }
            given[index].rank = static_cast<int32_t>(shapes[index].size());
            std::size_t axis = 0;
            for (const int32_t size : shapes[index]) {
                given[index].dims[axis++] = size;
            }
        }
        lith_message message{};
        detail::check(lith_session_resize(get(), given.data(), static_cast<int32_t>(given.size()), &message), message);
    }

    /* The inputs and outputs as they are in this session. */
    TensorInfo input_info(int32_t index) const {
        return tensor(index, lith_session_input_info);
    }
    TensorInfo output_info(int32_t index) const {
        return tensor(index, lith_session_output_info);
    }

    /* Copies a whole input from a container with contiguous elements of the input's type. */
    template <typename Container>
    void set_input(int32_t index, const Container &values) {
        using Element = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(values))>>;
        require<Element>(input_info(index));
        lith_message message{};
        detail::check(
            lith_session_set_input(get(), index, std::data(values), std::size(values) * sizeof(Element), &message),
            message);
    }
    template <typename Container>
    void set_input(const std::string &name, const Container &values) {
        set_input(model_.input_index(name), values);
    }

    /* An input to be written in place, until the next resize or bind. */
    template <typename T>
    View<T> input(int32_t index) {
        const TensorInfo info = input_info(index);
        require<T>(info);
        return view<T>(lith_session_input_data(get(), index), info);
    }
    template <typename T>
    View<T> input(const std::string &name) {
        return input<T>(model_.input_index(name));
    }

    /* An output where it lies, until the next run, resize or bind. */
    template <typename T>
    View<const T> output(int32_t index) const {
        const TensorInfo info = output_info(index);
        require<T>(info);
        return view<const T>(lith_session_output_data(get(), index), info);
    }
    template <typename T>
    View<const T> output(const std::string &name) const {
        return output<T>(model_.output_index(name));
    }

    /* Runs read and write this memory from now on; nullptr and 0: that of the session again. */
    void bind_input(int32_t index, const void *data, std::size_t bytes) {
        lith_message message{};
        detail::check(lith_session_bind_input(get(), index, data, bytes, &message), message);
    }
    void bind_output(int32_t index, void *data, std::size_t bytes) {
        lith_message message{};
        detail::check(lith_session_bind_output(get(), index, data, bytes, &message), message);
    }

    void run() {
        lith_message message{};
        detail::check(lith_session_run(get(), &message), message);
    }

    /* Runs once and calls `each` after every node. What it throws ends the run, and is thrown from here. */
    void profile(const std::function<void(const lith_profile_event &)> &each) {
        struct Call {
            const std::function<void(const lith_profile_event &)> &each;
            lith_session *session;
            std::exception_ptr thrown;
        } call{each, get(), nullptr};
        lith_session_set_profiler(
            get(),
            [](void *user, const lith_profile_event *event) {
                auto &self = *static_cast<Call *>(user);
                if (self.thrown) {
                    return;
                }
                try {
                    self.each(*event);
                } catch (...) { // must not cross the C code
                    self.thrown = std::current_exception();
                    lith_session_cancel(self.session);
                }
            },
            &call);
        lith_message message{};
        const lith_status status = lith_session_run(get(), &message);
        lith_session_set_profiler(get(), nullptr, nullptr);
        if (call.thrown) {
            std::rethrow_exception(call.thrown);
        }
        detail::check(status, message);
    }

    /* Sets the state of a streaming model back to its start. */
    void reset() noexcept {
        lith_session_reset(get());
    }

    /* Makes the run in progress, or else the next one, throw with LITH_CANCELLED. From any thread. */
    void cancel() noexcept {
        lith_session_cancel(get());
    }

    lith_memory_info memory() const {
        lith_memory_info result;
        lith_message none{};
        detail::check(lith_session_memory(get(), &result), none);
        return result;
    }

  private:
    struct Destroy {
        void operator()(lith_session *session) const noexcept {
            lith_session_destroy(session);
        }
    };

    Model model_; /* before the session, which has to go first */
    std::unique_ptr<lith_session, Destroy> session_;

    template <typename Ask>
    TensorInfo tensor(int32_t index, Ask ask) const {
        lith_tensor_info info;
        lith_message none{};
        detail::check(ask(get(), index, &info), none);
        return detail::tensor_info(info);
    }

    template <typename T>
    static void require(const TensorInfo &info) {
        if (info.dtype != detail::element<T>::value) {
            throw Error(LITH_ERROR_ARGUMENT, "'" + info.name + "' is " + lith_dtype_name(info.dtype) + ", not " +
                                                 lith_dtype_name(detail::element<T>::value));
        }
    }

    template <typename T, typename Pointer>
    static View<T> view(Pointer data, const TensorInfo &info) {
        if (data == nullptr && std::find(info.shape.begin(), info.shape.end(), -1) != info.shape.end()) {
            throw Error(LITH_ERROR_SHAPE, "the shape of '" + info.name + "' is not known yet");
        }
        if (data == nullptr && info.bytes != 0) {
            throw Error(LITH_ERROR_ARGUMENT, "'" + info.name + "' lies in a buffer of the caller, or there was no run");
        }
        return View<T>(static_cast<T *>(data), info.bytes / sizeof(T));
    }
};

} // namespace microlith

#endif
