#pragma once

#include <variant>

#include "core/train/zoo/gpt.h"
#include "core/train/zoo/lenet5.h"
#include "core/train/zoo/mlp.h"
#include "core/train/zoo/mobilenet_v2.h"
#include "core/train/zoo/resnet.h"
#include "core/train/zoo/transformer_encoder.h"

namespace tenon {

// The networks that Tenon knows by name (kType); each has its options, their field table and its layers in a file of its
// own.
using ZooConfig = std::variant<LeNet5Config,              //
                               MlpConfig,                 //
                               TransformerEncoderConfig,  //
                               GptConfig,                 //
                               MobileNetV2Config, ResNet18Config, ResNet34Config, ResNet50Config>;

}  // namespace tenon
