#include "core/data/npy_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Bytes;
using testing::Folder;
using testing::Gzip;
using testing::Npy;
using testing::Raw;

Result<NpyArray> Parse(const std::string& bytes) {
  TENON_ASSIGN(ByteReader reader,
               ByteReader::FromMemory("a.npy", std::as_bytes(std::span(bytes.data(), bytes.size()))));
  return ReadNpy(reader);
}

std::string Dict(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

TEST(Npy, ReadsAllTypesAndVersions) {
  for (const int version : {1, 2, 3}) {
    const auto array = Parse(Npy(Dict("<f4", "(2, 1)"), Raw<float>({1.5f, -2}), version));
    ASSERT_TRUE(array.ok()) << array.status().ToString();
    EXPECT_EQ(array->values.Describe(), "float32[2,1]");
    EXPECT_EQ(array->values.data<float>()[1], -2.0f);
    EXPECT_EQ(array->data_start % 64, 0);
  }
  EXPECT_EQ(Parse(Npy(Dict("<f8", "(1,)"), Raw<double>({0.1})))->values.data<double>()[0], 0.1);
  EXPECT_EQ(Parse(Npy(Dict("|u1", "(1,)"), Raw<std::uint8_t>({200})))->values.data<std::uint8_t>()[0], 200);
  EXPECT_EQ(Parse(Npy(Dict(">u1", "(1,)"), Raw<std::uint8_t>({200})))->values.data<std::uint8_t>()[0], 200);
  EXPECT_EQ(Parse(Npy(Dict("|i1", "(1,)"), Raw<std::int8_t>({-3})))->values.data<std::int8_t>()[0], -3);
  EXPECT_EQ(Parse(Npy(Dict("<i2", "(1,)"), Raw<std::int16_t>({-300})))->values.data<std::int16_t>()[0], -300);
  EXPECT_EQ(Parse(Npy(Dict("<u2", "(1,)"), Raw<std::uint16_t>({60000})))->values.data<std::uint16_t>()[0], 60000);
  EXPECT_EQ(Parse(Npy(Dict("<i4", "(1,)"), Raw<std::int32_t>({-70000})))->values.data<std::int32_t>()[0], -70000);
  EXPECT_EQ(Parse(Npy(Dict("<i8", "()"), Raw<std::int64_t>({-5})))->values.data<std::int64_t>()[0], -5);
  EXPECT_EQ(Parse(Npy("{\"shape\":(0,3),\"fortran_order\":False,\"descr\":\"<f4\"}", ""))->values.Describe(),
            "float32[0,3]");
  // Fortran order of one axis is the same as C order.
  EXPECT_TRUE(Parse(Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", Raw<float>({1}))).ok());
}

void ExpectError(const std::string& bytes, const std::string& text) {
  const auto array = Parse(bytes);
  ASSERT_FALSE(array.ok()) << text;
  EXPECT_EQ(array.status().ToString(), "a.npy: error: " + text);
}

TEST(Npy, RefusesWhatItDoesNotRead) {
  ExpectError("PK\x03\x04xxxxxx",
              "This is not a .npy file: it starts with 50 4b 03 04 78 78, expected 93 4e 55 4d 50 59.");
  ExpectError("\x93NUM",
              "The file is cut short: the magic number and version needs 8 bytes from byte 0 on, but only 4 follow.");
  ExpectError("\x93NUMPY" + Bytes({4, 0, 0, 0}), "The .npy format version is 4.0; versions 1.0, 2.0 and 3.0 are read.");
  ExpectError("\x93NUMPY" + Bytes({2, 0, 255, 255, 255, 255}), "The .npy header claims 4294967295 bytes, more than 0.");
  ExpectError("\x93NUMPY" + Bytes({1, 0, 10, 0}) + "{'a", "The .npy header claims 10 bytes, more than 3.");
  ExpectError(Npy(Dict(">f4", "(1,)"), "1234"), "The array is big-endian ('>f4'); save it with a.astype('<f4').");
  ExpectError(Npy(Dict("<c8", "(1,)"), "12345678"),
              "Arrays of type '<c8' are not read; save f2, f4, f8, u1 to u8 or i1 to i8, little-endian.");
  ExpectError(Npy(Dict("|O", "(1,)"), ""),
              "Arrays of type '|O' are not read; save f2, f4, f8, u1 to u8 or i1 to i8, little-endian.");
  ExpectError(Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"),
              "The array has a structured type (fields); save one plain array a file.");
  ExpectError(Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", Raw<float>({1, 2})),
              "The array [1,2] is in Fortran order; save it with numpy.ascontiguousarray(a).");
  ExpectError(Npy("{'descr': '<f4', 'shape': (1,), }", "1234"), "The .npy header lacks 'fortran_order'.");
  ExpectError(Npy("{'descr': '<f4', 'descr': '<f4', }", "1234"), "The .npy header names 'descr' twice.");
  ExpectError(Npy("{'color': 1}", "1234"), "The .npy header has an unknown entry 'color'.");
  ExpectError(Npy("{'shape': (-1,)}", "1234"),
              "The .npy header is not readable at its character 11: expected a dimension.");
  ExpectError(Npy("[]", "1234"), "The .npy header is not readable at its character 0: expected '{'.");
  ExpectError(
      Npy(Dict("<f4", "(3,)"), "1234"),
      "The file is cut short: shape [3] takes 3 values of 4 bytes each from byte 128 on, but only 4 bytes follow.");
  ExpectError(Npy(Dict("<f4", "(1,)"), "12345"),
              "The file is longer than its header says: it should end after 132 bytes.");
  EXPECT_FALSE(Parse(Npy(Dict("<f4", "(9223372036854775807, 9223372036854775807)"), "")).ok());
}

TEST(Npy, SamplesAndLabelsFromTwoFiles) {
  const Folder folder;
  const std::string samples = folder.Write("x.npy", Npy(Dict("|u1", "(3, 2)"), Bytes({1, 2, 3, 4, 5, 6})));
  const std::string labels = folder.Write("y.npy.gz", Gzip(Npy(Dict("<i4", "(3,)"), Raw<std::int32_t>({0, 5, 1}))));
  const auto data = OpenNpy(samples, labels);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ((*data)->classes(), 6);
  EXPECT_EQ((*data)->layout().shape, (Shape{2}));
  EXPECT_EQ(
      CheckLabels(**data, 5).ToString(),
      labels +
          ": record 1 at byte 132: error: The label of sample 1 is 5, but with 5 classes it must be between 0 and 4.");

  const std::string values = folder.Write("v.npy", Npy(Dict("<f8", "(3, 2)"), Raw<double>({0, 1, 2, 3, 4, 5})));
  const auto regression = OpenNpy(samples, values);
  ASSERT_TRUE(regression.ok());
  EXPECT_EQ((*regression)->layout().label_kind, LabelKind::kValue);
  EXPECT_EQ((*regression)->layout().label_shape, (Shape{2}));
  std::vector<float> out(2);
  ASSERT_TRUE((*regression)->ReadBatch(std::vector<std::int64_t>{2}, nullptr, out.data()).ok());
  EXPECT_EQ(out, (std::vector<float>{4, 5}));

  const std::string two = folder.Write("two.npy", Npy(Dict("<i4", "(2,)"), Raw<std::int32_t>({0, 5})));
  EXPECT_EQ(OpenNpy(samples, two).status().ToString(),
            samples + ": error: This file holds 3 samples, but '" + two + "' holds 2 labels.");
  EXPECT_EQ(OpenNpy(samples, folder.Path("gone.npy")).status().ToString(),
            folder.Path("gone.npy") + ": error: The file does not exist.");
}

}  // namespace
}  // namespace tenon
