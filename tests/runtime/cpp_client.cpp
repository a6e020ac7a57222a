/* A client of the installed library, in the words of microlith.hpp. */
#include <array>
#include <cstdio>
#include <cstring>
#include <microlith.hpp>

namespace {

void require(bool fine, const char *what) {
    if (!fine) {
        throw std::runtime_error(what);
    }
}

/* The status that a call throws. */
template <typename Call>
lith_status thrown(Call call) {
    try {
        call();
    } catch (const microlith::Error &error) {
        require(std::strlen(error.what()) > 0, "an error without a sentence");
        return error.status();
    }
    return LITH_OK;
}

/* Two models of one file, with one copy of the packed weights. */
void shared_weights(const char *path) {
    microlith::ModelOptions options;
    options.weights_cache.emplace();
    const microlith::Model first(path, options), second(path, options);
    const lith_weights_info info = options.weights_cache->info();
    require(info.saved_bytes == info.bytes, "shared weights");
    require(first.info().packed_bytes == info.bytes, "bytes of a cache");
    options.weights_cache.reset(); /* the models keep it */
    microlith::Session session(second);
    session.set_input("x", std::array<float, 48>{});
    session.run();
}

void wrong_calls(const microlith::Model &model, microlith::Session &session) {
    std::array<float, 48> x{};
    std::array<float, 10> y{};
    require(thrown([] { microlith::Model("no such file.lith"); }) == LITH_ERROR_IO, "a missing file");
    require(thrown([] { microlith::Model("x", 3); }) == LITH_ERROR_FORMAT, "bytes that are no model");
    require(thrown([&] { model.input_index("scores"); }) == LITH_ERROR_ARGUMENT, "an unknown name");
    require(thrown([&] { session.set_input(0, y); }) == LITH_ERROR_ARGUMENT, "a wrong size");
    require(thrown([&] { session.set_input(0, std::vector<int32_t>(48)); }) == LITH_ERROR_ARGUMENT, "a wrong type");
    require(thrown([&] { session.set_input(1, x); }) == LITH_ERROR_ARGUMENT, "a wrong index");
    require(thrown([&] { session.output<double>(0); }) == LITH_ERROR_ARGUMENT, "a view of a wrong type");
    require(thrown([&] { session.resize({{2, 25}}); }) == LITH_ERROR_SHAPE, "a shape that cannot be");
    require(thrown([&] { session.resize({microlith::Shape(9, 1)}); }) == LITH_ERROR_SHAPE, "nine dimensions");
    require(thrown([&] {
                microlith::ModelOptions o;
                o.isa = "mmx";
                microlith::Model("x.lith", o);
            }) == LITH_ERROR_ARGUMENT,
            "an unknown instruction set");
}

} // namespace

int main(int argc, char **argv) {
    try {
        require(argc == 2, "usage: cpp_client MODEL");
        microlith::SessionOptions options;
        options.keep_inputs = true;
        std::optional<microlith::Session> made;
        { /* the session keeps the model open */
            const microlith::Model model(argv[1]);
            made.emplace(model, options);
        }
        shared_weights(argv[1]);
        microlith::Session session = std::move(*made);
        const microlith::Model &model = session.model();
        wrong_calls(model, session);

        const std::vector<microlith::TensorInfo> inputs = model.inputs();
        require(inputs.size() == 1 && inputs[0].name == "x" && inputs[0].shape == microlith::Shape{2, 24} &&
                    inputs[0].bytes == 48 * sizeof(float) && !inputs[0].quantization,
                "what an input is");
        require(model.info().node_count > 0 && !model.metadata("no such key"), "what a model is");

        std::vector<float> x(48);
        for (std::size_t i = 0; i < x.size(); i++) {
            x[i] = static_cast<float>(i) / 48;
        }
        session.set_input("x", x);
        session.run();
        const auto scores = session.output<float>("scores");
        const std::vector<float> first(scores.begin(), scores.end());
        for (const float score : first) {
            std::printf("%.9g\n", static_cast<double>(score));
        }

        /* In place, and in buffers of the caller. */
        const auto in_place = session.input<float>(0);
        require(in_place.size() == 48 && in_place[1] == x[1], "a kept input");
        std::array<float, 10> y{};
        session.bind_input(0, x.data(), x.size() * sizeof(float));
        session.bind_output(0, y.data(), sizeof y);
        require(thrown([&] { session.input<float>(0); }) == LITH_ERROR_ARGUMENT, "a view of what is bound");
        session.run();
        require(std::memcmp(y.data(), first.data(), sizeof y) == 0, "bound buffers");

        /* A profile sees every node; what it throws comes out, and the session stays usable. */
        int nodes = 0;
        session.profile([&](const lith_profile_event &event) { nodes += event.name != nullptr; });
        require(nodes == model.info().node_count, "a profile");
        for (int last = 1; last <= nodes; last++) {
            int seen = 0;
            bool came = false;
            try {
                session.profile([&](const lith_profile_event &) {
                    if (++seen == last) {
                        throw 7;
                    }
                });
            } catch (int number) {
                came = number == 7 && seen == last;
            }
            require(came, "an exception of a profile function");
            session.run();
        }
        session.cancel();
        require(thrown([&] { session.run(); }) == LITH_CANCELLED, "a cancelled run");
        session.reset();
        session.run();
        require(session.memory().threads == 1, "memory");
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return 0;
}
